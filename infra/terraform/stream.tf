# The commit stream: the write-ahead log, payloads included. A deployment of tables alone has none.

moved {
  from = aws_kinesis_stream.commits
  to   = aws_kinesis_stream.commits[0]
}

resource "aws_kinesis_stream" "commits" {
  count = local.stream_count

  name             = local.stream_name
  shard_count      = var.stream.mode == "PROVISIONED" ? var.stream.shards : null
  retention_period = var.stream.retention_hours
  encryption_type  = "KMS"
  kms_key_id       = coalesce(var.kms_key_arn, "alias/aws/kinesis")

  # Its consumers go with it; the tables' protection decides whether it may go at all (tables.tf).
  enforce_consumer_deletion = true

  stream_mode_details {
    stream_mode = var.stream.mode
  }

  tags = local.tags
}

# The oracle's own pipe: records are pushed, and nobody else's reads slow it down.
resource "aws_kinesis_stream_consumer" "oracle" {
  count = var.stream.enabled && var.enhanced_fan_out ? 1 : 0

  name       = "${local.prefix}-oracle"
  stream_arn = aws_kinesis_stream.commits[0].arn
  tags       = local.tags
}
