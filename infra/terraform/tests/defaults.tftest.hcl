# What a deployment is with nothing but its required inputs. Run by `terraform test` with a mocked
# provider: no account is needed, but the provider's schema is.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
  tables = {
    orders = {
      create = {
        partition_key = { name = "id", type = "S" }
        sort_key      = { name = "line", type = "N" }
      }
    }
    stock = { history = true }
  }
}

run "the_stream_keeps_a_week_encrypted_on_one_shard" {
  assert {
    condition     = aws_kinesis_stream.commits[0].name == "tidemark-shop-commits"
    error_message = "SDK clients look for the stream under this name (aws/names.ts)."
  }
  assert {
    condition     = aws_kinesis_stream.commits[0].retention_period == 168
    error_message = "Retention is how long replay may be down: a week."
  }
  assert {
    condition = (
      aws_kinesis_stream.commits[0].encryption_type == "KMS" &&
      aws_kinesis_stream.commits[0].kms_key_id == "alias/aws/kinesis"
    )
    error_message = "Payloads lie in the stream: it is encrypted."
  }
  assert {
    condition = (
      aws_kinesis_stream.commits[0].shard_count == 1 &&
      aws_kinesis_stream.commits[0].stream_mode_details[0].stream_mode == "PROVISIONED"
    )
    error_message = "This version certifies on one shard."
  }
}

run "an_on_demand_stream_counts_its_own_shards" {
  variables {
    stream = { mode = "ON_DEMAND" }
  }
  assert {
    condition = (
      aws_kinesis_stream.commits[0].shard_count == null &&
      aws_kinesis_stream.commits[0].stream_mode_details[0].stream_mode == "ON_DEMAND"
    )
    error_message = "AWS refuses a number of shards for an on-demand stream."
  }
}

run "the_oracle_is_given_every_record_in_order_for_ever" {
  assert {
    condition = (
      aws_lambda_event_source_mapping.stream["oracle"].event_source_arn ==
      aws_kinesis_stream_consumer.oracle[0].arn
    )
    error_message = "The oracle reads through a consumer of its own."
  }
  assert {
    condition = (
      aws_lambda_event_source_mapping.stream["oracle"].maximum_batching_window_in_seconds == 0
    )
    error_message = "Every millisecond of window is latency of every commit."
  }
  assert {
    condition = length(
      aws_lambda_event_source_mapping.stream["oracle"].function_response_types
    ) == 0
    error_message = <<-EOT
      The oracle fails a batch as a whole; an empty answer would count as success either way.
    EOT
  }
  assert {
    condition = alltrue([
      for mapping in aws_lambda_event_source_mapping.stream :
      mapping.parallelization_factor == 1 &&
      mapping.bisect_batch_on_function_error == false &&
      mapping.maximum_retry_attempts == -1 &&
      mapping.maximum_record_age_in_seconds == -1 &&
      mapping.starting_position == "TRIM_HORIZON" &&
      mapping.batch_size != null
    ])
    error_message = <<-EOT
      A record that is skipped, given up or taken out of order is a lost or wrong commit.
    EOT
  }
}

run "replay_shares_the_stream_and_answers_in_part" {
  assert {
    condition = (
      aws_lambda_event_source_mapping.stream["replay"].event_source_arn ==
      aws_kinesis_stream.commits[0].arn
    )
    error_message = "Replay can wait for the shared iterator."
  }
  assert {
    condition = (
      aws_lambda_event_source_mapping.stream["replay"].maximum_batching_window_in_seconds == 1
    )
    error_message = "A window of a second makes replay cheap."
  }
  assert {
    condition = contains(
      aws_lambda_event_source_mapping.stream["replay"].function_response_types,
      "ReportBatchItemFailures"
    )
    error_message = "Replay returns what the log does not cover yet."
  }
  assert {
    condition = (
      aws_cloudwatch_event_rule.schedule["replay"].schedule_expression == "rate(1 minute)" &&
      aws_cloudwatch_event_rule.schedule["reaper"].schedule_expression == "rate(10 minutes)"
    )
    error_message = <<-EOT
      Replay sweeps when the stream is silent, and the reaper runs a few times an hour.
    EOT
  }
}

run "tables_are_protected_backed_up_and_forget_by_ttl" {
  assert {
    condition = alltrue([
      for table in aws_dynamodb_table.system :
      table.deletion_protection_enabled && table.billing_mode == "PAY_PER_REQUEST" &&
      table.ttl[0].enabled && table.ttl[0].attribute_name == "expiresAt"
    ])
    error_message = "System tables are protected, on demand, and expire by expiresAt."
  }
  assert {
    condition = (
      {
        for name, table in aws_dynamodb_table.system :
        name => table.point_in_time_recovery[0].enabled
      } ==
      { control = true, log = true, versions = false }
    )
    error_message = "Backups where nothing else could give the data back."
  }
  assert {
    condition = (
      {
        for name, table in aws_dynamodb_table.system :
        name => [table.name, table.hash_key, table.range_key]
      } ==
      {
        control  = ["tidemark-shop-control", "pk", "sk"]
        log      = ["tidemark-shop-log", "shard", "position"]
        versions = ["tidemark-shop-versions", "key", "version"]
      }
    )
    error_message = "Names and keys are those of docs/protocol.md."
  }
  assert {
    condition = (
      keys(aws_dynamodb_table.user) == ["orders"] &&
      aws_dynamodb_table.user["orders"].deletion_protection_enabled &&
      aws_dynamodb_table.user["orders"].point_in_time_recovery[0].enabled
    )
    error_message = <<-EOT
      Only tables with `create` are made, protected and backed up; the others are adopted.
    EOT
  }
  assert {
    condition = (
      jsondecode(aws_lambda_invocation.provision.input) ==
      {
        historyRetentionMs = 3600000
        stream             = true
        tables = [
          { name = "orders", history = false, access = "transactional", base = false },
          { name = "stock", history = true, access = "transactional", base = false },
        ]
      }
    )
    error_message = "Made and adopted tables are registered."
  }
  assert {
    condition     = aws_lambda_invocation.provision.lifecycle_scope == "CREATE_ONLY"
    error_message = "Destroying the invocation must not touch the control table."
  }
}

run "functions_run_where_and_as_what_was_tested" {
  assert {
    condition = alltrue([
      for function in aws_lambda_function.this :
      (
        function.runtime == "nodejs22.x" &&
        function.architectures == tolist(["arm64"]) &&
        function.handler == "index.handler"
      )
    ])
    error_message = "nodejs22.x on arm64, handler index.handler."
  }
  assert {
    condition = (
      keys(aws_lambda_function.this) == ["api", "oracle", "provision", "reaper", "replay"]
    )
    error_message = "Five functions."
  }
  assert {
    condition = (
      aws_lambda_function.this["oracle"].environment[0].variables ==
      tomap({ TIDEMARK_DEPLOYMENT = "shop", TIDEMARK_LOG_LEVEL = "INFO" })
    )
    error_message = <<-EOT
      The environment is what functions/shared/environment.ts reads, and no local endpoint.
    EOT
  }
  assert {
    condition = (
      aws_lambda_function.this["api"].environment[0].variables["TIDEMARK_COMMIT"] == "auto"
    )
    error_message = "REST commits by what serves better."
  }
  assert {
    condition     = aws_lambda_function.this["api"].timeout < 30
    error_message = "The HTTP API gives up after 30 seconds."
  }
  assert {
    condition = (
      alltrue([for group in aws_cloudwatch_log_group.function : group.retention_in_days == 30]) &&
      aws_cloudwatch_log_group.access[0].retention_in_days == 30
    )
    error_message = "No log is kept for ever."
  }
  assert {
    condition = alltrue([
      for config in aws_lambda_function_event_invoke_config.scheduled :
      config.maximum_retry_attempts == 0
    ])
    error_message = "A scheduled run is not repeated: the next one comes."
  }
}

run "rest_asks_for_signatures_and_is_throttled" {
  assert {
    condition = (
      aws_apigatewayv2_route.rest[0].authorization_type == "AWS_IAM" &&
      length(aws_apigatewayv2_authorizer.jwt) == 0
    )
    error_message = "IAM is the default."
  }
  assert {
    condition     = length(aws_apigatewayv2_api.rest[0].cors_configuration) == 0
    error_message = "No CORS unless origins are named."
  }
  assert {
    condition = (
      aws_apigatewayv2_stage.rest[0].default_route_settings[0].throttling_rate_limit == 200 &&
      aws_apigatewayv2_stage.rest[0].default_route_settings[0].throttling_burst_limit == 400
    )
    error_message = "Throttled by default."
  }
  assert {
    condition     = aws_apigatewayv2_integration.rest[0].payload_format_version == "2.0"
    error_message = "The function reads payload format 2.0."
  }
}

run "everything_that_takes_tags_has_them" {
  variables {
    tags = { team = "shop" }
  }
  assert {
    condition = alltrue([
      for tags in concat(
        [
          aws_kinesis_stream.commits[0].tags,
          aws_apigatewayv2_api.rest[0].tags,
          aws_apigatewayv2_stage.rest[0].tags,
        ],
        values(aws_dynamodb_table.system)[*].tags, values(aws_dynamodb_table.user)[*].tags,
        values(aws_lambda_function.this)[*].tags,
        values(aws_lambda_event_source_mapping.stream)[*].tags,
        values(aws_iam_role.function)[*].tags, values(aws_iam_policy.sdk)[*].tags,
        values(aws_cloudwatch_log_group.function)[*].tags,
        values(aws_cloudwatch_metric_alarm.this)[*].tags,
        values(aws_cloudwatch_event_rule.schedule)[*].tags,
      ) : tags["tidemark:deployment"] == "shop" && tags["team"] == "shop"
    ])
    error_message = "Tags say to which deployment a resource belongs."
  }
}

run "alarms_exist_and_name_their_page" {
  assert {
    condition = length(setsubtract(
      [
        "oracle-iterator-age",
        "replay-iterator-age",
        "watermark-lag",
        "oracle-errors",
        "rejected-records",
        "dead-letters",
        "oracle-throttled",
        "stream-throttled",
      ],
      keys(aws_cloudwatch_metric_alarm.this),
    )) == 0 && length(aws_cloudwatch_metric_alarm.conflict_rate) == 1
    error_message = "Each way to need somebody has its alarm."
  }
  assert {
    condition = alltrue([
      for name, alarm in aws_cloudwatch_metric_alarm.this :
      strcontains(alarm.alarm_description, "\"${name}\" in docs/operations.md")
    ])
    error_message = "An alarm says where to read what to do."
  }
  assert {
    condition = alltrue([
      for alarm in aws_cloudwatch_metric_alarm.this :
      alarm.datapoints_to_alarm <= alarm.evaluation_periods
    ])
    error_message = "More datapoints than periods never alarm."
  }
}

run "the_dashboard_shows_metrics_as_lists_of_names" {
  assert {
    condition = alltrue(flatten([
      for widget in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : [
        for metric in widget.properties.metrics :
        can(metric[0].expression) || (length(metric) >= 4 && can(tolist(metric)))
      ]
    ]))
    error_message = "A metric is a namespace, a name and dimensions."
  }
  assert {
    condition = contains(
      flatten([
        for widget in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : [
          for metric in widget.properties.metrics : try(metric[0].expression, "")
        ]
      ]),
      join(" ", [
        "SEARCH('{Tidemark,deployment,service,shard} MetricName=\"WatermarkLag\"",
        "service=\"tidemark-replay\" deployment=\"shop\"', 'Maximum', 60)",
      ]),
    )
    error_message = "Shards are searched for, so that those that were split off are among them."
  }
}
