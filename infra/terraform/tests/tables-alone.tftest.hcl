# A deployment of tables alone: no stream, no oracle, and one function that keeps house.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
  tables     = { stock = {} }
  stream     = { enabled = false }
}

run "there_is_no_stream_and_nothing_that_reads_one" {
  assert {
    condition = (
      length(aws_kinesis_stream.commits) == 0 &&
      length(aws_kinesis_stream_consumer.oracle) == 0 &&
      length(aws_lambda_event_source_mapping.stream) == 0 &&
      output.stream == null
    )
    error_message = "Neither stream nor consumer nor mapping."
  }
  assert {
    condition     = keys(aws_lambda_function.this) == ["api", "housekeeping", "provision"]
    error_message = "Housekeeping stands for replay and reaper; nobody is an oracle."
  }
  assert {
    condition     = keys(aws_dynamodb_table.system) == ["control", "log", "versions"]
    error_message = "The tables are the same."
  }
}

run "housekeeping_runs_once_a_minute" {
  assert {
    condition = (
      {
        for name, rule in aws_cloudwatch_event_rule.schedule : name => rule.schedule_expression
      } == { housekeeping = "rate(1 minute)" }
    )
    error_message = "One schedule."
  }
}

run "nobody_is_granted_a_stream_that_is_not_there" {
  assert {
    condition = alltrue([
      for policy in concat(
        values(aws_iam_role_policy.function)[*].policy, values(aws_iam_policy.sdk)[*].policy
      ) : !strcontains(policy, "kinesis")
    ])
    error_message = "No statement names a stream, and none an empty list of resources."
  }
  assert {
    condition = alltrue(flatten([
      for policy in aws_iam_role_policy.function : [
        for statement in jsondecode(policy.policy).Statement : length(statement.Resource) > 0
      ]
    ]))
    error_message = "IAM refuses a statement without a resource."
  }
}

run "rest_commits_by_blocks_of_its_own" {
  assert {
    condition = length([
      for statement in jsondecode(aws_iam_role_policy.function["api"].policy).Statement : statement
      if startswith(statement.Sid, "Express")
    ]) > 0
    error_message = "It has the right to append to the log."
  }
  assert {
    condition     = output.rest.endpoint == aws_apigatewayv2_api.rest[0].api_endpoint
    error_message = "REST needs no stream."
  }
}

run "provision_is_told" {
  assert {
    condition     = jsondecode(aws_lambda_invocation.provision.input).stream == false
    error_message = "It lists the shard that a stream would begin with."
  }
  assert {
    condition     = keys(aws_lambda_invocation.provision.triggers) == ["control"]
    error_message = "A stream that comes later has it invoked again."
  }
}

run "a_stream_is_closed_before_it_goes" {
  variables {
    stream = { closing = true }
  }
  assert {
    condition     = jsondecode(aws_lambda_invocation.provision.input).stream == "closing"
    error_message = "Provision closes it, and waits until it is drained."
  }
  assert {
    condition = (
      length(aws_kinesis_stream.commits) == 1 &&
      keys(aws_lambda_event_source_mapping.stream) == ["oracle", "replay"]
    )
    error_message = "Replay needs it until then."
  }
}

run "a_stream_that_is_not_there_does_not_close" {
  command = plan
  variables {
    stream = { enabled = false, closing = true }
  }
  expect_failures = [var.stream]
}

run "alarms_and_dashboard_speak_of_what_is_there" {
  assert {
    condition = length(setintersection(
      keys(aws_cloudwatch_metric_alarm.this),
      ["oracle-errors", "oracle-iterator-age", "stream-throttled", "watermark-lag"],
    )) == 0 && length(aws_cloudwatch_metric_alarm.conflict_rate) == 0
    error_message = "No alarm of a stream or an oracle."
  }
  assert {
    condition = (
      aws_cloudwatch_metric_alarm.this["dead-letters"].dimensions["service"] ==
      "tidemark-housekeeping" &&
      aws_cloudwatch_metric_alarm.this["housekeeping-errors"].threshold == 0
    )
    error_message = "Housekeeping writes the metrics of replay and reaper."
  }
  assert {
    condition = alltrue(flatten([
      for widget in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : [
        length(widget.properties.metrics) > 0,
        [
          for metric in widget.properties.metrics :
          !strcontains(jsonencode(metric), "AWS/Kinesis") &&
          !strcontains(jsonencode(metric), "tidemark-oracle")
        ],
      ]
    ]))
    error_message = "No widget is empty, and none of something that is not there."
  }
}

run "clients_may_keep_house_in_the_place_of_a_function" {
  variables {
    housekeeping = { enabled = false }
  }
  assert {
    condition = (
      keys(aws_lambda_function.this) == ["api", "provision"] &&
      keys(aws_cloudwatch_log_group.function) == ["api", "provision"] &&
      keys(aws_iam_role.function) == ["api", "provision"] &&
      length(aws_cloudwatch_event_rule.schedule) == 0 &&
      length(aws_lambda_permission.schedule) == 0
    )
    error_message = "Neither the function nor what belongs to it."
  }
  assert {
    condition = length(setintersection(
      keys(aws_cloudwatch_metric_alarm.this),
      ["dead-letters", "reaper-failures", "housekeeping-errors", "housekeeping-throttled"],
    )) == 0
    error_message = "Nobody writes what these alarms would look at."
  }
  assert {
    condition     = !strcontains(aws_cloudwatch_dashboard.this.dashboard_body, "housekeeping")
    error_message = "The dashboard shows what is there."
  }
  assert {
    condition = length([
      for statement in jsondecode(aws_iam_policy.sdk["housekeeping"].policy).Statement : statement
      if startswith(statement.Sid, "KeepHouse")
    ]) > 0
    error_message = "Clients may be given the right to."
  }
}
