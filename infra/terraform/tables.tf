# The deployment's own tables, and those that it makes for its user. Keys as in docs/protocol.md §1.
#
# `hash_key` and `range_key` it is: of aws_dynamodb_table the provider deprecates them for indexes
# only, and knows no `key_schema` for the table itself.

locals {
  # Backups matter where nothing else could give the data back: control holds dead letters and
  # idempotency entries, and the log says what became of records that are still in the stream.
  # BASE transactions that are open can go on only by their records. Superseded versions expire
  # anyway.
  backed_up = toset(["log", "control", "base"])
}

resource "aws_dynamodb_table" "system" {
  for_each = local.system_tables

  name                        = each.value.name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = each.value.partition_key.name
  range_key                   = each.value.sort_key.name
  deletion_protection_enabled = var.deletion_protection

  attribute {
    name = each.value.partition_key.name
    type = each.value.partition_key.type
  }

  attribute {
    name = each.value.sort_key.name
    type = each.value.sort_key.type
  }

  ttl {
    attribute_name = "expiresAt"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery && contains(local.backed_up, each.key)
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }

  tags = local.tags

  # Destroyed before the stream, which has no protection of its own: where a table may not go, the
  # stream stays too.
  depends_on = [aws_kinesis_stream.commits]
}

resource "aws_dynamodb_table" "user" {
  for_each = { for name, table in var.tables : name => table.create if table.create != null }

  name                        = each.key
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = each.value.partition_key.name
  range_key                   = try(each.value.sort_key.name, null)
  deletion_protection_enabled = var.deletion_protection

  dynamic "attribute" {
    for_each = [for key in [each.value.partition_key, each.value.sort_key] : key if key != null]

    content {
      name = attribute.value.name
      type = attribute.value.type
    }
  }

  stream_enabled   = contains(local.audited_tables, each.key)
  stream_view_type = contains(local.audited_tables, each.key) ? "NEW_AND_OLD_IMAGES" : null

  point_in_time_recovery {
    enabled = each.value.point_in_time_recovery
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }

  tags = local.tags

  # As above: records in the stream may hold the only copy of what this table does not have yet.
  depends_on = [aws_kinesis_stream.commits]
}
