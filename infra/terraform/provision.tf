# Fills the control table: shards, first watermarks, the registry of tables. A function does it
# rather than aws_dynamodb_table_item, whose destroy would take a running deployment's watermarks
# (docs/adr/0007).

resource "aws_lambda_invocation" "provision" {
  function_name   = aws_lambda_function.this["provision"].function_name
  lifecycle_scope = "CREATE_ONLY"

  # Invoked again when any of this changes; every invocation is repeatable.
  input = jsonencode({
    historyRetentionMs = var.history_retention_minutes * 60 * 1000
    shards             = var.shards
    stream             = jsondecode(var.stream.closing ? "\"closing\"" : var.stream.enabled)
    tables = [
      for name in sort(keys(var.tables)) :
      {
        name    = name
        history = var.tables[name].history
        access  = var.tables[name].access
        base    = var.tables[name].base
      }
    ]
  })
  triggers = merge(
    { control = aws_dynamodb_table.system["control"].arn },
    { for stream in aws_kinesis_stream.commits : "stream" => stream.arn },
  )

  depends_on = [
    aws_dynamodb_table.system,
    aws_dynamodb_table.user,
    aws_iam_role_policy.function,
  ]

  # So that a stream goes only after it has agreed: it refuses while the stream is in use.
  lifecycle {
    create_before_destroy = true
  }
}
