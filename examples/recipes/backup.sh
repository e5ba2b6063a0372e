#!/bin/sh
# A copy of the store for each day, while jobs write to it; those of the last two weeks are kept.
set -e
copy="backup/churn-$(date -u +%F).db"
calibrant monitor backup churn.db "$copy"
calibrant monitor check "$copy"
find backup -name 'churn-*.db' -mtime +14 -delete
