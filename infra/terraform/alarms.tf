# One alarm for each way in which a deployment can need somebody. docs/operations.md says what to do
# about each, under the alarm's name. Of several shards each alarm is of the worst: the metrics are
# of all of them, so their maximum is that of one, and a shard that was split off is among them.

locals {
  # Housekeeping is both of them, where there is no stream.
  replay_service = var.stream.enabled ? "tidemark-replay" : "tidemark-housekeeping"
  reaper_service = var.stream.enabled ? "tidemark-reaper" : "tidemark-housekeeping"

  stream_alarm_definitions = {
    oracle-iterator-age = {
      description = "Commits wait to be certified: the oldest record of the oracle is too old."
      namespace   = "AWS/Lambda", metric = "IteratorAge", statistic = "Maximum"
      dimensions  = { FunctionName = "${local.prefix}-oracle" }
      threshold   = var.alarms.oracle_iterator_age_seconds * 1000
      minutes     = 3
    }
    replay-iterator-age = {
      description = "Replay is behind the stream. At the stream's retention payloads are lost."
      namespace   = "AWS/Lambda", metric = "IteratorAge", statistic = "Maximum"
      dimensions  = { FunctionName = "${local.prefix}-replay" }
      threshold   = var.alarms.replay_iterator_age_seconds * 1000
      minutes     = 5
    }
    watermark-lag = {
      description = "A shard's watermark lags behind its log: clients hold more of it in memory."
      namespace   = "Tidemark", metric = "WatermarkLag", statistic = "Maximum"
      dimensions  = { service = "tidemark-replay", deployment = var.deployment }
      threshold   = var.alarms.watermark_lag_seconds * 1000
      minutes     = 5
    }
    rejected-records = {
      description = "Something that is no commit record of this version was put on the stream."
      namespace   = "Tidemark", metric = "RejectedRecords", statistic = "Sum"
      dimensions  = { service = "tidemark-oracle", deployment = var.deployment }
      threshold   = 0
      minutes     = 1
    }
    stream-throttled = {
      description = "The commit stream takes no more: its shard is at its limit."
      namespace   = "AWS/Kinesis"
      metric      = "WriteProvisionedThroughputExceeded"
      statistic   = "Sum"
      dimensions  = { StreamName = local.stream_name }
      threshold   = 0
      minutes     = 3
    }
  }

  house_alarm_definitions = {
    dead-letters = {
      description = "A committed write can never be installed."
      namespace   = "Tidemark", metric = "DeadLetters", statistic = "Sum"
      dimensions  = { service = local.replay_service, deployment = var.deployment }
      threshold   = 0
      minutes     = 1
    }
    open-transactions = {
      description = "Nobody settles a transaction: it bars others and holds up its watermark."
      namespace   = "Tidemark", metric = "OldestOpen", statistic = "Maximum"
      dimensions  = { service = local.replay_service, deployment = var.deployment }
      threshold   = var.alarms.oldest_open_seconds * 1000
      minutes     = 5
      datapoints  = 3
    }
    reaper-failures = {
      description = "Tombstones cannot be removed."
      namespace   = "Tidemark", metric = "ReaperFailures", statistic = "Sum"
      dimensions  = { service = local.reaper_service, deployment = var.deployment }
      threshold   = 0
      minutes     = 60
      datapoints  = 3
    }
  }

  base_alarm_definitions = {
    base-parked = {
      description = "BASE transactions are parked: they hold their items until they are resumed."
      namespace   = "Tidemark", metric = "BaseParked", statistic = "Sum"
      dimensions  = { FunctionName = local.base_runner_name }
      threshold   = 0
      # It is counted by each run while there are any.
      minutes    = 10
      datapoints = 1
    }
    base-without-handler = {
      description = "The runner has no handler for BASE transactions that are open."
      namespace   = "Tidemark", metric = "BaseWithoutHandler", statistic = "Sum"
      dimensions  = { FunctionName = local.base_runner_name }
      threshold   = 0
      minutes     = 10
      datapoints  = 1
    }
    base-runner-errors = {
      description = "The runner of BASE transactions fails."
      namespace   = "AWS/Lambda", metric = "Errors", statistic = "Sum"
      dimensions  = { FunctionName = local.base_runner_name }
      threshold   = 0
      minutes     = 10
      datapoints  = 3
    }
  }

  alarm_definitions = merge(
    {
      for name, alarm in local.stream_alarm_definitions : name => alarm if var.stream.enabled
    },
    {
      for name, alarm in local.house_alarm_definitions : name => alarm if local.functions_keep_house
    },
    {
      for name, alarm in local.base_alarm_definitions : name => alarm if var.base_runner != null
    },
    {
      for name in keys(local.functions) : "${name}-errors" => {
        description = "The function ${name} fails."
        namespace   = "AWS/Lambda", metric = "Errors", statistic = "Sum"
        dimensions  = { FunctionName = "${local.prefix}-${name}" }
        threshold   = 0
        # One failed batch comes again by itself; a function that fails for minutes does not. The
        # reaper runs every ten.
        minutes    = name == "reaper" ? 30 : 3
        datapoints = name == "reaper" ? 2 : 3
      } if name != "provision"
    },
    {
      for name in keys(local.functions) : "${name}-throttled" => {
        description = "Lambda refuses to run ${name}: no concurrency is left for it."
        namespace   = "AWS/Lambda", metric = "Throttles", statistic = "Sum"
        dimensions  = { FunctionName = "${local.prefix}-${name}" }
        threshold   = 0
        minutes     = 3
      } if name != "provision"
    },
    {
      for name, table in local.system_tables : "${name}-table-throttled" => {
        description = "DynamoDB refuses writes to ${table.name}."
        namespace   = "AWS/DynamoDB", metric = "WriteThrottleEvents", statistic = "Sum"
        dimensions  = { TableName = table.name }
        threshold   = 0
        minutes     = 3
      }
    },
    {
      for name in keys(local.functions) : "rest-failed" => {
        description = "REST answers with errors that are its own."
        namespace   = "Tidemark", metric = "RestFailed", statistic = "Sum"
        dimensions  = { service = "tidemark-api", deployment = var.deployment }
        threshold   = 0
        minutes     = 3
      } if name == "api"
    },
  )
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = { for name, alarm in local.alarm_definitions : name => alarm if var.alarms.enabled }

  alarm_name          = "${local.prefix}-${each.key}"
  alarm_description   = "${each.value.description} See \"${each.key}\" in docs/operations.md."
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.threshold
  period              = 60
  evaluation_periods  = each.value.minutes
  # Every minute of the window has to be bad, unless the alarm says how many.
  datapoints_to_alarm = try(each.value.datapoints, each.value.minutes)
  # A deployment at rest writes no metrics, and is well.
  treat_missing_data = "notBreaching"
  alarm_actions      = var.alarms.actions
  ok_actions         = var.alarms.actions
  tags               = local.tags
}

# A share of few decisions says nothing, so below 100 in five minutes it counts as none.
resource "aws_cloudwatch_metric_alarm" "conflict_rate" {
  count = var.alarms.enabled && var.stream.enabled ? 1 : 0

  alarm_name = "${local.prefix}-conflict-rate"
  alarm_description = join(" ", [
    "Many transactions are aborted by conflicts that only the oracle saw.",
    "See \"conflict-rate\" in docs/operations.md.",
  ])
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.alarms.conflict_percent
  evaluation_periods  = 3
  datapoints_to_alarm = 3
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarms.actions
  ok_actions          = var.alarms.actions

  metric_query {
    id          = "rate"
    expression  = "IF(committed + conflicts >= 100, 100 * conflicts / (committed + conflicts), 0)"
    label       = "Conflicts, percent of decisions"
    return_data = true
  }

  dynamic "metric_query" {
    for_each = { committed = "Committed", conflicts = "AbortedConflict" }

    content {
      id          = metric_query.key == "committed" ? "rawCommitted" : "rawConflicts"
      return_data = false

      metric {
        namespace   = "Tidemark"
        metric_name = metric_query.value
        dimensions  = { service = "tidemark-oracle", deployment = var.deployment }
        stat        = "Sum"
        period      = 300
      }
    }
  }

  # The oracle writes only the verdicts that occurred.
  metric_query {
    id          = "committed"
    expression  = "FILL(rawCommitted, 0)"
    return_data = false
  }

  metric_query {
    id          = "conflicts"
    expression  = "FILL(rawConflicts, 0)"
    return_data = false
  }

  tags = local.tags
}
