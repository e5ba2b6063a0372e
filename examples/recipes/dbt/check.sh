#!/bin/sh
# Build the table, then gate it: the script ends with the exit code of the first command that fails.
set -e
dbt build --profiles-dir .
calibrant evaluate warehouse.duckdb --table predictions --label churned --prob p_churn --metrics ece,brier --fail-if "ece.low > 0.03"
