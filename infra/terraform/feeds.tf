# Consumers of changes: functions of the user's own bundles (feedHandler of the npm package).

locals {
  # Rights of policies that clients have, too.
  feed_policies = {
    for name, feed in var.feeds : name => concat(
      ["read-only", "feeds"],
      feed.transactions ? ["read-write"] : [],
      # Without a stream who commits appends blocks of its own.
      feed.transactions && !var.stream.enabled ? ["express"] : [],
    )
  }
  woken_feeds = {
    for name, feed in var.feeds : name => feed
    if feed.wake && var.stream.enabled
  }
}

resource "aws_cloudwatch_log_group" "feed" {
  for_each = var.feeds

  name              = "/aws/lambda/${local.prefix}-feed-${each.key}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_iam_role" "feed" {
  for_each = var.feeds

  name        = "${local.global_prefix}-feed-${each.key}"
  description = "Tidemark ${var.deployment}: feed ${each.key}"

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

resource "aws_iam_role_policy_attachment" "feed" {
  for_each = {
    for pair in flatten([
      for name, policies in local.feed_policies : [
        for policy in policies : { feed = name, policy = policy }
      ]
    ]) : "${pair.feed}/${pair.policy}" => pair
  }

  role       = aws_iam_role.feed[each.value.feed].name
  policy_arn = aws_iam_policy.sdk[each.value.policy].arn
}

# Payloads that went by the stream, and the records that wake it.
resource "aws_iam_role_policy" "feed_stream" {
  for_each = var.stream.enabled ? var.feeds : {}

  name = "stream"
  role = aws_iam_role.feed[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      for grant in local.grants.mapping : {
        Sid      = grant.sid
        Effect   = "Allow"
        Action   = grant.actions
        Resource = local.granted_resources[grant.on]
      }
    ]
  })
}

resource "aws_iam_role_policy" "feed_logs" {
  for_each = var.feeds

  name = "logs"
  role = aws_iam_role.feed[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid    = "WriteOwnLog"
      Effect = "Allow"
      Action = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = join(":", [
        "arn:${local.partition}:logs:${local.region}:${local.account}",
        "log-group:/aws/lambda/${local.prefix}-feed-${each.key}:*",
      ])
    }]
  })
}

resource "aws_lambda_function" "feed" {
  for_each = var.feeds

  function_name    = "${local.prefix}-feed-${each.key}"
  description      = "Tidemark ${var.deployment}: handles changes for ${each.key}"
  role             = aws_iam_role.feed[each.key].arn
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

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.feed[each.key].name
  }

  tags = local.tags

  depends_on = [
    aws_iam_role_policy.feed_logs,
    aws_iam_role_policy.feed_stream,
    aws_iam_role_policy_attachment.feed,
  ]
}

# One is at it anyway: the others would only look.
resource "aws_lambda_event_source_mapping" "feed" {
  for_each = local.woken_feeds

  function_name                      = aws_lambda_function.feed[each.key].arn
  event_source_arn                   = aws_kinesis_stream.commits[0].arn
  starting_position                  = "LATEST"
  batch_size                         = 10000
  maximum_batching_window_in_seconds = 1
  # It looks at no record. What an invocation did not handle, the next one does.
  maximum_retry_attempts        = 0
  maximum_record_age_in_seconds = 60

  tags = local.tags

  depends_on = [aws_lambda_invocation.provision]
}

resource "aws_cloudwatch_event_rule" "feed" {
  for_each = var.feeds

  name                = "${local.prefix}-feed-${each.key}"
  description         = "Tidemark ${var.deployment}: wakes the feed ${each.key}"
  schedule_expression = each.value.rate
  tags                = local.tags

  depends_on = [aws_lambda_invocation.provision]
}

resource "aws_cloudwatch_event_target" "feed" {
  for_each = var.feeds

  rule = aws_cloudwatch_event_rule.feed[each.key].name
  arn  = aws_lambda_function.feed[each.key].arn
}

resource "aws_lambda_permission" "feed" {
  for_each = var.feeds

  statement_id  = "schedule"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.feed[each.key].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.feed[each.key].arn
}
