# Who may do what. grants.json holds it as data; test/deploy compares it with the calls that the
# functions and the SDK were seen to make, in both directions.

locals {
  grants = jsondecode(file("${path.module}/grants.json"))

  granted_resources = {
    stream   = var.stream.enabled ? [local.stream_arn] : []
    consumer = aws_kinesis_stream_consumer.oracle[*].arn
    log      = ["${local.table_arn_prefix}/${local.system_tables.log.name}"]
    control  = ["${local.table_arn_prefix}/${local.system_tables.control.name}"]
    versions = ["${local.table_arn_prefix}/${local.system_tables.versions.name}"]
    tables   = local.registered_table_arns
    mixedTables = [
      for name, table in var.tables : "${local.table_arn_prefix}/${name}"
      if table.access == "mixed" || table.moving
    ]
    tableStreams = [
      for name in local.audited_tables : "${local.table_arn_prefix}/${name}/stream/*"
    ]
    indexes = [for arn in local.registered_table_arns : "${arn}/index/*"]
  }

  # What each function's role is put together from.
  grant_sets = {
    oracle = concat(["oracle", "mapping"], var.enhanced_fan_out ? ["fanOut"] : [])
    replay = ["replay", "mapping"]
    reaper = ["reaper"]
    # Both their rights, but for the stream's; what replay votes down by a record, this does by a
    # block.
    housekeeping = ["replay", "reaper", "express"]
    splitter     = ["split"]
    api          = ["readOnly", "write", "express", "rest"]
    auditor      = ["audit"]
    provision    = ["provision"]
  }
  # The policies for users. `express` lets its holder append to the log, and is given beside
  # `read-write`: it trusts a client as the oracle is trusted. `housekeeping` comes beside both, and
  # trusts a client with what replay and reaper may (docs/operations.md, Who can do what). `feeds`
  # comes beside either, for consumers of changes that have a name; how far these have come is seen
  # by whoever may read.
  user_grant_sets = {
    read-only    = ["readOnly", "seeFeeds"]
    read-write   = ["readOnly", "seeFeeds", "write"]
    express      = ["express"]
    housekeeping = ["keepHouse"]
    feeds        = ["feeds"]
  }
  # Who has the others has the keys by `read-write`.
  user_policies_with_keys = ["read-only", "read-write"]

  key_arns = distinct(
    concat(var.kms_key_arn == null ? [] : [var.kms_key_arn], var.table_kms_key_arns)
  )
  key_actions = {
    read = ["kms:Decrypt", "kms:DescribeKey"]
    write = [
      "kms:Decrypt",
      "kms:DescribeKey",
      "kms:Encrypt",
      "kms:GenerateDataKey*",
      "kms:ReEncrypt*",
    ]
  }
  key_statements = {
    for use, actions in local.key_actions : use => [
      for arns in [local.key_arns] : {
        Sid      = "UseKeys"
        Effect   = "Allow"
        Action   = actions
        Resource = arns
        Condition = {
          StringEquals = {
            "kms:ViaService" = concat(
              ["dynamodb.${local.region}.amazonaws.com"],
              var.stream.enabled ? ["kinesis.${local.region}.amazonaws.com"] : [],
            )
          }
        }
      } if length(arns) > 0
    ]
  }

  # A function and a policy for users may share a name, and share no rights by that.
  sets_by_policy = merge(
    { for name, sets in local.grant_sets : "function/${name}" => sets },
    { for name, sets in local.user_grant_sets : "sdk/${name}" => sets },
  )
  policies = {
    for name, sets in local.sets_by_policy : name => jsonencode({
      Version = "2012-10-17"
      Statement = concat(
        flatten([
          for set in sets : [
            for grant in local.grants[set] : merge(
              {
                Sid      = "${title(set)}${grant.sid}"
                Effect   = "Allow"
                Action   = grant.actions
                Resource = local.granted_resources[grant.on]
              },
              {
                for keys in [try(grant.leadingKeys, null)] :
                "Condition" => { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = keys } }
                if keys != null
              },
            ) if length(local.granted_resources[grant.on]) > 0
          ]
        ]),
        [
          for statement in local.key_statements[name == "sdk/read-only" ? "read" : "write"] :
          statement
          if startswith(name, "function/") ||
          contains(local.user_policies_with_keys, trimprefix(name, "sdk/"))
        ],
      )
    })
  }
}

resource "aws_iam_role" "function" {
  for_each = local.functions

  name        = "${local.global_prefix}-${each.key}"
  description = "Tidemark ${var.deployment}: function ${each.key}"

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

resource "aws_iam_role_policy" "function" {
  for_each = local.functions

  name   = "tidemark"
  role   = aws_iam_role.function[each.key].name
  policy = local.policies["function/${each.key}"]
}

resource "aws_iam_role_policy" "function_logs" {
  for_each = local.functions

  name = "logs"
  role = aws_iam_role.function[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid    = "WriteOwnLog"
      Effect = "Allow"
      Action = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = join(":", [
        "arn:${local.partition}:logs:${local.region}:${local.account}",
        "log-group:/aws/lambda/${local.prefix}-${each.key}:*",
      ])
    }]
  })
}

# For the roles of applications that use the SDK.
resource "aws_iam_policy" "sdk" {
  for_each = local.user_grant_sets

  name        = "${local.global_prefix}-${each.key}"
  description = "Tidemark ${var.deployment}: ${each.key} access through the SDK"
  policy      = local.policies["sdk/${each.key}"]
  tags        = local.tags
}
