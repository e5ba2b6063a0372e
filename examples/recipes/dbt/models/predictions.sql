-- One row for each prediction whose outcome is known; the newest score counts.
{{ config(materialized="table") }}
select s.customer, s.p_churn, o.churned
from {{ ref("scores") }} as s
join {{ ref("outcomes") }} as o using (customer)
qualify row_number() over (partition by s.customer order by s.scored_at desc) = 1
