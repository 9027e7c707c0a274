# The functions, from the zips of the npm package, and their logs.

resource "aws_cloudwatch_log_group" "function" {
  for_each = local.functions

  name              = "/aws/lambda/${local.prefix}-${each.key}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_lambda_function" "this" {
  for_each = local.functions

  function_name    = "${local.prefix}-${each.key}"
  description      = "Tidemark ${var.deployment}: ${each.value.description}"
  role             = aws_iam_role.function[each.key].arn
  filename         = "${local.functions_path}/${each.key}.zip"
  source_code_hash = try(filebase64sha256("${local.functions_path}/${each.key}.zip"), null)
  handler          = "index.handler"
  runtime          = "nodejs22.x"
  architectures    = ["arm64"]
  memory_size      = lookup(var.memory_mb, each.key, each.value.memoryMb)
  timeout          = each.value.timeoutSeconds
  kms_key_arn      = var.kms_key_arn

  reserved_concurrent_executions = lookup(var.reserved_concurrency, each.key, -1)

  environment {
    variables = merge(
      {
        TIDEMARK_DEPLOYMENT = var.deployment
        TIDEMARK_LOG_LEVEL  = var.log_level
      },
      each.key == "api" ? { TIDEMARK_COMMIT = var.rest.commit } : {},
      each.key != "splitter" ? {} : {
        TIDEMARK_SPLIT_SHARDS_MAX             = var.auto_split.shards_max
        TIDEMARK_SPLIT_ENTRIES_PER_SECOND     = var.auto_split.entries_per_second
        TIDEMARK_SPLIT_WRITE_UNITS_PER_SECOND = var.auto_split.write_units_per_second
        TIDEMARK_SPLIT_LAG_SECONDS            = var.auto_split.lag_seconds
        TIDEMARK_SPLIT_WINDOW_SECONDS         = var.auto_split.window_minutes * 60
        TIDEMARK_SPLIT_COOL_DOWN_SECONDS      = var.auto_split.cool_down_minutes * 60
      },
      var.local_endpoints == null ? {} : {
        TIDEMARK_ENDPOINT_DYNAMODB = var.local_endpoints.dynamodb
        TIDEMARK_ENDPOINT_KINESIS  = var.local_endpoints.kinesis
      },
    )
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.function[each.key].name
  }

  tags = local.tags

  lifecycle {
    precondition {
      condition     = fileexists("${local.functions_path}/${each.key}.zip")
      error_message = <<-EOT
        There is no ${each.key}.zip in ${local.functions_path}. The published package carries it; in
        a clone, run `npm ci && npm run build:functions` first, or set functions_path.
      EOT
    }
  }

  # A function that runs before it may do anything only fills its log.
  depends_on = [aws_iam_role_policy.function, aws_iam_role_policy.function_logs]
}

resource "aws_lambda_function_event_invoke_config" "scheduled" {
  for_each = local.schedules

  function_name                = aws_lambda_function.this[each.key].function_name
  maximum_retry_attempts       = each.value.retriesMax
  maximum_event_age_in_seconds = each.value.eventAgeSecondsMax
}
