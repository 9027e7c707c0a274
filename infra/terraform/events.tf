# What wakes the functions: the stream and schedules.

resource "aws_lambda_event_source_mapping" "stream" {
  for_each = local.mappings

  function_name = aws_lambda_function.this[each.key].arn
  event_source_arn = (
    each.value.enhancedFanOut && var.enhanced_fan_out
    ? aws_kinesis_stream_consumer.oracle[0].arn
    : aws_kinesis_stream.commits[0].arn
  )

  starting_position = each.value.startingPosition

  batch_size                         = each.value.batchSize
  maximum_batching_window_in_seconds = each.value.windowSeconds
  function_response_types = (
    each.value.partialBatchResponse ? ["ReportBatchItemFailures"] : []
  )

  parallelization_factor         = each.value.parallelizationFactor
  bisect_batch_on_function_error = each.value.bisect
  maximum_retry_attempts         = each.value.retriesMax
  maximum_record_age_in_seconds  = each.value.recordAgeSecondsMax

  tags = local.tags

  # Before the control table is filled, every invocation would fail.
  depends_on = [aws_lambda_invocation.provision]
}

resource "aws_cloudwatch_event_rule" "schedule" {
  for_each = local.schedules

  name                = "${local.prefix}-${each.key}"
  description         = "Tidemark ${var.deployment}: wakes ${each.key}"
  schedule_expression = each.value.rate
  tags                = local.tags

  depends_on = [aws_lambda_invocation.provision]
}

resource "aws_cloudwatch_event_target" "schedule" {
  for_each = local.schedules

  rule = aws_cloudwatch_event_rule.schedule[each.key].name
  arn  = aws_lambda_function.this[each.key].arn
}

resource "aws_lambda_permission" "schedule" {
  for_each = local.schedules

  statement_id  = "schedule"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this[each.key].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.schedule[each.key].arn
}
