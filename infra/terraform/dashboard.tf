# One page that answers, from top to bottom: does it commit, how far behind is it, what is refused,
# what does it cost; and then the same for each shard. Those are searched for, not listed: splits
# make more of them.

locals {
  oracle_dimensions = ["service", "tidemark-oracle", "deployment", var.deployment]
  replay_dimensions = ["service", local.replay_service, "deployment", var.deployment]
  reaper_dimensions = ["service", local.reaper_service, "deployment", var.deployment]

  # Of a deployment with a stream.
  stream_widgets = [
    {
      title = "Decisions", stat = "Sum", unit = "count"
      metrics = [
        for metric in ["Committed", "AbortedConflict", "Stale", "AbortedProbed"] :
        concat(["Tidemark", metric], local.oracle_dimensions)
      ]
    },
    {
      title = "Age of the oldest record", stat = "Maximum", unit = "milliseconds"
      metrics = [
        for name in keys(local.mappings) : [
          "AWS/Lambda", "IteratorAge", "FunctionName", "${local.prefix}-${name}"
        ]
      ]
    },
    {
      title   = "Watermark lag", stat = "Maximum", unit = "milliseconds"
      metrics = [concat(["Tidemark", "WatermarkLag"], local.replay_dimensions)]
    },
    {
      title = "Oracle: blocks and what they hold", stat = "Sum", unit = "count"
      metrics = [
        for metric in ["Records", "Blocks", "Duplicates", "Rebuilds", "PositionsTaken"] :
        concat(["Tidemark", metric], local.oracle_dimensions)
      ]
    },
    {
      title = "Stream: bytes in", stat = "Sum", unit = "bytes"
      metrics = [
        ["AWS/Kinesis", "IncomingBytes", "StreamName", local.stream_name],
        ["AWS/Kinesis", "WriteProvisionedThroughputExceeded", "StreamName", local.stream_name],
      ]
    },
  ]

  # Where functions keep house, not clients.
  house_widgets = [
    {
      title = "What needs somebody", stat = "Sum", unit = "count"
      metrics = concat(
        [
          for metric in ["RejectedRecords"] :
          concat(["Tidemark", metric], local.oracle_dimensions) if var.stream.enabled
        ],
        [
          concat(["Tidemark", "DeadLetters"], local.replay_dimensions),
          concat(["Tidemark", "ReaperFailures"], local.reaper_dimensions),
        ],
      )
    },
    {
      title = "Replay: installed for others", stat = "Sum", unit = "count"
      metrics = [
        for metric in ["ReplayedTransactions", "ReplayInstalledWrites"] :
        concat(["Tidemark", metric], local.replay_dimensions)
      ]
    },
  ]

  # Metrics that have a value for each shard, which is named as logs and the control table have it.
  shard_metrics = concat(
    [
      for shown in [
        { title = "commits", metric = "Committed", stat = "Sum", unit = "count" },
        { title = "conflicts", metric = "AbortedConflict", stat = "Sum", unit = "count" },
        { title = "busy answers", metric = "Busy", stat = "Sum", unit = "count" },
      ] : merge(shown, { service = "tidemark-oracle" }) if var.stream.enabled
    ],
    [
      for stream in [local.stream_name] : {
        title   = "watermark lag", metric = "WatermarkLag", stat = "Maximum", unit = "milliseconds"
        service = local.replay_service
      } if var.stream.enabled
    ],
    [
      for shown in [
        { title = "oldest open", metric = "OldestOpen", stat = "Maximum", unit = "milliseconds" },
        { title = "blocks of the log", metric = "LogBlocks", stat = "Sum", unit = "count" },
      ] : merge(shown, { service = local.replay_service }) if local.functions_keep_house
    ],
  )
  shard_widgets = [
    for shown in local.shard_metrics : {
      title = "Each shard: ${shown.title}", stat = shown.stat, unit = shown.unit
      metrics = [[{
        id = "shards"
        expression = join(" ", [
          "SEARCH('{Tidemark,deployment,service,shard} MetricName=\"${shown.metric}\"",
          "service=\"${shown.service}\" deployment=\"${var.deployment}\"',",
          "'${shown.stat}', 60)",
        ])
      }]]
    }
  ]

  widgets = concat(
    [for widget in local.stream_widgets : widget if var.stream.enabled],
    [for widget in local.house_widgets : widget if local.functions_keep_house],
    [
      {
        title = "Functions: errors and throttles", stat = "Sum", unit = "count"
        metrics = concat([
          for name in keys(local.functions) : [
            for metric in ["Errors", "Throttles"] : [
              "AWS/Lambda", metric, "FunctionName", "${local.prefix}-${name}"
            ]
          ]
        ]...)
      },
      {
        title = "Functions: duration, p99", stat = "p99", unit = "milliseconds"
        metrics = [
          for name in keys(local.functions) : [
            "AWS/Lambda", "Duration", "FunctionName", "${local.prefix}-${name}"
          ]
        ]
      },
      {
        title = "Tables: write units", stat = "Sum", unit = "units"
        metrics = [
          for table in values(local.system_tables) : [
            "AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", table.name
          ]
        ]
      },
    ],
    [
      for name in keys(local.functions) : {
        title = "REST: answers", stat = "Sum", unit = "count"
        metrics = [
          for metric in [
            "RestSucceeded", "RestConflict", "RestUnknown", "RestThrottled", "RestRefused",
            "RestFailed"
          ] :
          ["Tidemark", metric, "service", "tidemark-api", "deployment", var.deployment]
        ]
      } if name == "api"
    ],
    local.shard_widgets,
  )
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = local.global_prefix

  dashboard_body = jsonencode({
    widgets = [
      for i, widget in local.widgets : {
        type   = "metric"
        x      = (i % 2) * 12
        y      = floor(i / 2) * 6
        width  = 12
        height = 6
        properties = {
          title   = widget.title
          region  = local.region
          stat    = widget.stat
          period  = 60
          view    = "timeSeries"
          metrics = widget.metrics
          yAxis   = { left = { label = widget.unit, min = 0 } }
        }
      }
    ]
  })
}
