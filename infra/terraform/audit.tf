# Who writes mixed tables and knows of no transactions, told by the tables' own streams.

data "aws_dynamodb_table" "audited" {
  for_each = toset([for name in local.audited_tables : name if var.tables[name].create == null])

  name = each.key

  lifecycle {
    postcondition {
      condition     = self.stream_enabled && self.stream_view_type == "NEW_AND_OLD_IMAGES"
      error_message = <<-EOT
        The table ${each.key} is to be audited, and has no stream of old and new images. Enable one:
        aws dynamodb update-table --table-name ${each.key} --stream-specification
        StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES
      EOT
    }
  }
}

resource "aws_lambda_event_source_mapping" "audit" {
  for_each = toset(local.audited_tables)

  function_name = aws_lambda_function.this["auditor"].arn
  event_source_arn = (
    var.tables[each.key].create == null
    ? data.aws_dynamodb_table.audited[each.key].stream_arn
    : aws_dynamodb_table.user[each.key].stream_arn
  )

  starting_position                  = local.all_functions.auditor.tableMapping.startingPosition
  batch_size                         = local.all_functions.auditor.tableMapping.batchSize
  maximum_batching_window_in_seconds = local.all_functions.auditor.tableMapping.windowSeconds
  bisect_batch_on_function_error     = local.all_functions.auditor.tableMapping.bisect
  maximum_retry_attempts             = local.all_functions.auditor.tableMapping.retriesMax

  tags = local.tags
}
