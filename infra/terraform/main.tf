# Names, and what the rest is built from. Every name derives from the deployment (aws/names.ts does
# the same for SDK clients), and what is global in an account (roles, policies, dashboards) carries
# the region too.

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  region    = data.aws_region.current.region
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition

  # Without a stream the deployment is one of tables alone.
  stream_count = var.stream.enabled ? 1 : 0
  # Otherwise clients do, and tell it in events of theirs.
  functions_keep_house = var.stream.enabled || var.housekeeping.enabled

  prefix        = "tidemark-${var.deployment}"
  global_prefix = "${local.prefix}-${local.region}"

  stream_name = "${local.prefix}-commits"
  # Where any table takes BASE transactions, there is one more, which is registered beside them:
  # clients and functions have the rights on it that they have on tables of the user.
  takes_base = anytrue([for table in values(var.tables) : table.base])
  base_table = "${local.prefix}-base"
  system_tables = {
    for role, table in local.all_system_tables : role => table
    if role != "base" || local.takes_base
  }
  all_system_tables = {
    log = {
      name          = "${local.prefix}-log"
      partition_key = { name = "shard", type = "S" }
      sort_key      = { name = "position", type = "N" }
    }
    control = {
      name          = "${local.prefix}-control"
      partition_key = { name = "pk", type = "S" }
      sort_key      = { name = "sk", type = "S" }
    }
    versions = {
      name          = "${local.prefix}-versions"
      partition_key = { name = "key", type = "B" }
      sort_key      = { name = "version", type = "N" }
    }
    base = {
      name          = local.base_table
      partition_key = { name = "pk", type = "S" }
      sort_key      = { name = "sk", type = "S" }
    }
  }

  # ARNs are put together from names, so that a plan shows each policy in full before anything
  # exists.
  table_arn_prefix = "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table"
  stream_arn = join(":", [
    "arn:${local.partition}:kinesis:${local.region}:${local.account}",
    "stream/${local.stream_name}",
  ])
  registered_table_arns = [
    for name in concat(sort(keys(var.tables)), local.takes_base ? [local.base_table] : []) :
    "${local.table_arn_prefix}/${name}"
  ]

  audited_tables = sort([for name, table in var.tables : name if table.audit])

  # The table of functions/shared/settings.ts, which says why each value is what it is.
  all_functions = jsondecode(file("${path.module}/functions.json"))
  functions = {
    for name, settings in local.all_functions :
    name => settings
    if contains(
      concat(
        ["either", var.stream.enabled ? "stream" : "tables"],
        length(local.audited_tables) > 0 ? ["audit"] : [],
        var.auto_split.enabled ? ["split"] : [],
      ),
      settings.deployedWith
    ) &&
    (name != "api" || var.rest.enabled) && (name != "housekeeping" || var.housekeeping.enabled)
  }
  mappings = {
    for name, settings in local.functions :
    name => settings.mapping
    if can(settings.mapping)
  }
  schedules = {
    for name, settings in local.functions :
    name => settings.schedule
    if can(settings.schedule)
  }

  functions_path = coalesce(var.functions_path, "${path.module}/../../dist/functions")

  tags = merge(var.tags, {
    "tidemark:deployment" = var.deployment
    "tidemark:managed-by" = "terraform"
  })
}
