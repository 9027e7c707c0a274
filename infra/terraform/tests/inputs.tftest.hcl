# Wrong inputs are refused before anything is planned.

mock_provider "aws" {}

variables {
  deployment = "shop"
  tables     = { stock = {} }
}

run "refuses_deployment_with_a_dot" {
  command = plan
  variables {
    deployment = "my.shop"
  }
  expect_failures = [var.deployment]
}

run "refuses_scopes_in_one_text" {
  command = plan
  variables {
    rest = {
      authorization = "JWT"
      jwt = {
        issuer   = "https://login.example.com"
        audience = ["shop"]
        scopes   = ["read write"]
      }
    }
  }
  expect_failures = [var.rest]
}

run "refuses_deployment_too_long" {
  command = plan
  variables {
    deployment = "abcdefghijabcdefghijabcdefghija"
  }
  expect_failures = [var.deployment]
}

run "refuses_deployment_in_capitals" {
  command = plan
  variables {
    deployment = "Shop"
  }
  expect_failures = [var.deployment]
}

run "refuses_no_table" {
  command = plan
  variables {
    tables = {}
  }
  expect_failures = [var.tables]
}

run "refuses_a_table_by_arn" {
  command = plan
  variables {
    tables = { "arn:aws:dynamodb:eu-west-1:1:table/x" = {} }
  }
  expect_failures = [var.tables]
}

run "refuses_a_table_of_a_deployment" {
  command = plan
  variables {
    tables = { "tidemark-shop-control" = {} }
  }
  expect_failures = [var.tables]
}

run "refuses_an_access_that_is_none" {
  command = plan
  variables {
    tables = { stock = { access = "native" } }
  }
  expect_failures = [var.tables]
}

run "refuses_history_on_a_mixed_table" {
  command = plan
  variables {
    tables = { stock = { access = "mixed", history = true } }
  }
  expect_failures = [var.tables]
}

run "refuses_base_transactions_on_a_mixed_table" {
  command = plan
  variables {
    tables = { stock = { access = "mixed", base = true } }
  }
  expect_failures = [var.tables]
}

run "refuses_base_transactions_on_a_table_that_moves" {
  command = plan
  variables {
    tables = { stock = { moving = true, base = true } }
  }
  expect_failures = [var.tables]
}

run "refuses_to_audit_a_table_of_transactions_alone" {
  command = plan
  variables {
    tables = { stock = { audit = true } }
  }
  expect_failures = [var.tables]
}

run "refuses_a_key_of_no_type" {
  command = plan
  variables {
    tables = { stock = { create = { partition_key = { name = "id", type = "BOOL" } } } }
  }
  expect_failures = [var.tables]
}

run "refuses_a_key_that_is_ours" {
  command = plan
  variables {
    tables = { stock = { create = { partition_key = { name = "_v", type = "N" } } } }
  }
  expect_failures = [var.tables]
}

run "refuses_an_unknown_stream_mode" {
  command = plan
  variables {
    stream = { mode = "FAST" }
  }
  expect_failures = [var.stream]
}

run "refuses_two_shards" {
  command = plan
  variables {
    stream = { shards = 2 }
  }
  expect_failures = [var.stream]
}

run "refuses_retention_beyond_the_log" {
  command = plan
  variables {
    stream = { retention_hours = 240 }
  }
  expect_failures = [var.stream]
}

run "refuses_history_too_short" {
  command = plan
  variables {
    history_retention_minutes = 5
  }
  expect_failures = [var.history_retention_minutes]
}

run "refuses_an_open_api" {
  command = plan
  variables {
    rest = { authorization = "NONE" }
  }
  expect_failures = [var.rest]
}

run "refuses_jwt_without_issuer" {
  command = plan
  variables {
    rest = { authorization = "JWT" }
  }
  expect_failures = [var.rest]
}

run "refuses_jwt_for_any_audience" {
  command = plan
  variables {
    rest = { authorization = "JWT", jwt = { issuer = "https://login.example.com", audience = [] } }
  }
  expect_failures = [var.rest]
}

run "refuses_no_throttling" {
  command = plan
  variables {
    rest = { throttling = { rate = 0, burst = 10 } }
  }
  expect_failures = [var.rest]
}

run "refuses_any_origin" {
  command = plan
  variables {
    rest = { cors_origins = ["*"] }
  }
  expect_failures = [var.rest]
}

run "refuses_a_key_alias" {
  command = plan
  variables {
    kms_key_arn = "alias/shop"
  }
  expect_failures = [var.kms_key_arn]
}

run "refuses_an_unknown_log_level" {
  command = plan
  variables {
    log_level = "TRACE"
  }
  expect_failures = [var.log_level]
}

run "refuses_logs_for_ever" {
  command = plan
  variables {
    log_retention_days = 0
  }
  expect_failures = [var.log_retention_days]
}

run "refuses_memory_of_an_unknown_function" {
  command = plan
  variables {
    memory_mb = { orcale = 512 }
  }
  expect_failures = [var.memory_mb]
}

run "refuses_too_little_memory" {
  command = plan
  variables {
    memory_mb = { oracle = 128 }
  }
  expect_failures = [var.memory_mb]
}

run "refuses_an_oracle_switched_off" {
  command = plan
  variables {
    reserved_concurrency = { oracle = 0 }
  }
  expect_failures = [var.reserved_concurrency]
}

run "refuses_an_alarm_that_comes_too_late" {
  command = plan
  variables {
    alarms = { replay_iterator_age_seconds = 600000 }
  }
  expect_failures = [var.alarms]
}

run "refuses_tags_that_are_ours" {
  command = plan
  variables {
    tags = { "tidemark:deployment" = "other" }
  }
  expect_failures = [var.tags]
}

run "refuses_a_sort_key_that_is_the_partition_key" {
  command = plan
  variables {
    tables = {
      stock = {
        create = {
          partition_key = { name = "id", type = "S" }
          sort_key      = { name = "id", type = "S" }
        }
      }
    }
  }
  expect_failures = [var.tables]
}

run "refuses_retention_in_half_hours" {
  command = plan
  variables {
    stream = { retention_hours = 24.5 }
  }
  expect_failures = [var.stream]
}

run "refuses_an_origin_with_a_path" {
  command = plan
  variables {
    rest = { cors_origins = ["https://shop.example.com/"] }
  }
  expect_failures = [var.rest]
}

run "refuses_a_table_key_alias" {
  command = plan
  variables {
    table_kms_key_arns = ["alias/tables"]
  }
  expect_failures = [var.table_kms_key_arns]
}

run "refuses_an_alarm_that_always_fires" {
  command = plan
  variables {
    alarms = { watermark_lag_seconds = 0 }
  }
  expect_failures = [var.alarms]
}

run "refuses_more_conflicts_than_decisions" {
  command = plan
  variables {
    alarms = { conflict_percent = 120 }
  }
  expect_failures = [var.alarms]
}

run "refuses_to_tell_an_address" {
  command = plan
  variables {
    alarms = { actions = ["ops@example.com"] }
  }
  expect_failures = [var.alarms]
}

run "refuses_an_endpoint_with_a_path" {
  command = plan
  variables {
    local_endpoints = { dynamodb = "http://127.0.0.1:4566/db", kinesis = "http://127.0.0.1:4566" }
  }
  expect_failures = [var.local_endpoints]
}

run "refuses_rest_by_a_stream_that_is_not_there" {
  command = plan
  variables {
    stream = { enabled = false }
    rest   = { commit = "stream" }
  }
  expect_failures = [var.rest]
}

run "refuses_a_way_to_commit_that_there_is_not" {
  command = plan
  variables {
    rest = { commit = "fast" }
  }
  expect_failures = [var.rest]
}

run "refuses_memory_for_housekeeping_that_clients_do" {
  command = plan
  variables {
    stream       = { enabled = false }
    housekeeping = { enabled = false }
    memory_mb    = { housekeeping = 1024 }
  }
  expect_failures = [var.memory_mb]
}

run "refuses_memory_for_an_oracle_without_a_stream" {
  command = plan
  variables {
    stream    = { enabled = false }
    memory_mb = { oracle = 1769 }
  }
  expect_failures = [var.memory_mb]
}

run "refuses_concurrency_for_housekeeping_beside_a_stream" {
  command = plan
  variables {
    reserved_concurrency = { housekeeping = 1 }
  }
  expect_failures = [var.reserved_concurrency]
}

run "refuses_a_long_name_without_a_stream" {
  command = plan
  variables {
    deployment = "abcdefghij-abcdefghij-abcdef"
    stream     = { enabled = false }
  }
  expect_failures = [var.stream]
}

run "refuses_a_window_longer_than_the_cool_down" {
  command = plan
  variables {
    auto_split = { enabled = true, window_minutes = 20, cool_down_minutes = 15 }
  }
  expect_failures = [var.auto_split]
}

run "refuses_more_shards_than_there_may_be" {
  command = plan
  variables {
    auto_split = { enabled = true, shards_max = 65 }
  }
  expect_failures = [var.auto_split]
}

run "refuses_a_runner_without_a_table_for_base_transactions" {
  command = plan
  variables {
    base_runner = { filename = "runner.zip" }
  }
  expect_failures = [var.base_runner]
}

run "refuses_a_runner_that_has_no_time" {
  command = plan
  variables {
    tables      = { seats = { base = true } }
    base_runner = { filename = "runner.zip", timeout_seconds = 10 }
  }
  expect_failures = [var.base_runner]
}
