# The runner of BASE transactions: a function of the user's own bundle, which goes on with those
# whose process is gone (baseRunnerHandler of the npm package).

locals {
  base_runner      = var.base_runner == null ? {} : { base-runner = var.base_runner }
  base_runner_name = "${local.prefix}-base-runner"
  # Its steps commit as those of any client do: where there is no stream, by blocks of its own.
  base_runner_policies = concat(
    ["read-write"],
    try(var.base_runner.express, false) || !var.stream.enabled ? ["express"] : [],
  )
}

resource "aws_cloudwatch_log_group" "base_runner" {
  for_each = local.base_runner

  name              = "/aws/lambda/${local.prefix}-base-runner"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_iam_role" "base_runner" {
  for_each = local.base_runner

  # A role's name takes 64 characters, with deployment and region.
  name        = "${local.global_prefix}-runner"
  description = "Tidemark ${var.deployment}: runner of BASE transactions"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "lambda.amazonaws.com" }
    }]
  })

  tags = local.tags
}

resource "aws_iam_role_policy_attachment" "base_runner" {
  for_each = toset(var.base_runner == null ? [] : local.base_runner_policies)

  role       = aws_iam_role.base_runner["base-runner"].name
  policy_arn = aws_iam_policy.sdk[each.value].arn
}

resource "aws_iam_role_policy" "base_runner_logs" {
  for_each = local.base_runner

  name = "logs"
  role = aws_iam_role.base_runner[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid    = "WriteOwnLog"
      Effect = "Allow"
      Action = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = join(":", [
        "arn:${local.partition}:logs:${local.region}:${local.account}",
        "log-group:/aws/lambda/${local.base_runner_name}:*",
      ])
    }]
  })
}

resource "aws_lambda_function" "base_runner" {
  for_each = local.base_runner

  function_name    = "${local.prefix}-base-runner"
  description      = "Tidemark ${var.deployment}: goes on with BASE transactions that were left"
  role             = aws_iam_role.base_runner[each.key].arn
  filename         = each.value.filename
  source_code_hash = try(filebase64sha256(each.value.filename), null)
  handler          = each.value.handler
  runtime          = "nodejs22.x"
  architectures    = ["arm64"]
  memory_size      = each.value.memory_mb
  timeout          = each.value.timeout_seconds
  kms_key_arn      = var.kms_key_arn

  environment {
    variables = merge({ TIDEMARK_DEPLOYMENT = var.deployment }, each.value.environment)
  }

  # Metrics are lines of the log, as they are.
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.base_runner[each.key].name
  }

  tags = local.tags

  depends_on = [
    aws_iam_role_policy.base_runner_logs,
    aws_iam_role_policy_attachment.base_runner,
  ]
}

resource "aws_cloudwatch_event_rule" "base_runner" {
  for_each = local.base_runner

  name                = "${local.prefix}-base-runner"
  description         = "Tidemark ${var.deployment}: wakes the runner of BASE transactions"
  schedule_expression = each.value.rate
  tags                = local.tags

  depends_on = [aws_lambda_invocation.provision]
}

resource "aws_cloudwatch_event_target" "base_runner" {
  for_each = local.base_runner

  rule = aws_cloudwatch_event_rule.base_runner[each.key].name
  arn  = aws_lambda_function.base_runner[each.key].arn
}

resource "aws_lambda_permission" "base_runner" {
  for_each = local.base_runner

  statement_id  = "schedule"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.base_runner[each.key].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.base_runner[each.key].arn
}
