variable "deployment" {
  description = "Name of the deployment. SDK clients use it to find everything else."
  type        = string
  nullable    = false

  validation {
    condition = (
      can(regex("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", var.deployment)) && length(var.deployment) <= 30
    )
    error_message = <<-EOT
      A deployment's name is 1 to 30 characters out of a-z, 0-9 and inner hyphens: it becomes part
      of the names of functions, which take no dots, and of roles, which take 64 characters with
      region and role.
    EOT
  }
}

variable "tables" {
  description = <<-EOT
    The tables that transactions may touch, by name. Without `create` a table is adopted: it exists,
    keeps its items and its key, and needs no migration. With `create` the module makes it.
    `access` says who writes its items: transactions alone, or with "mixed" native operations of
    DynamoDB beside them. Of a table that is registered only `npx tidemark move` changes it; with
    `moving` functions and clients have the rights that it takes on the way to "mixed".
    `audit` has a function tell who writes a mixed table and knows of no transactions, by the
    table's stream; one that is adopted must have a stream of old and new images.
    `base` lets BASE transactions use the table, which stays so; where any has it, the module makes
    the table that holds their locks and records. Give such tables `history`: readers then wait for
    no open BASE transaction.
  EOT
  type = map(object({
    history = optional(bool, false)
    access  = optional(string, "transactional")
    audit   = optional(bool, false)
    moving  = optional(bool, false)
    base    = optional(bool, false)
    create = optional(object({
      partition_key          = object({ name = string, type = string })
      sort_key               = optional(object({ name = string, type = string }))
      point_in_time_recovery = optional(bool, true)
    }))
  }))
  nullable = false

  validation {
    condition     = length(var.tables) > 0
    error_message = <<-EOT
      Name at least one table: functions and clients may touch only the tables that are named here.
    EOT
  }
  validation {
    condition = alltrue([
      for name in keys(var.tables) :
      can(regex("^[a-zA-Z0-9_.-]{3,255}$", name))
    ])
    error_message = <<-EOT
      A table's name is 3 to 255 characters out of letters, digits, underscore, dot and hyphen. Give
      the name, not the ARN: tables lie in the deployment's own account and region.
    EOT
  }
  validation {
    condition     = alltrue([for name in keys(var.tables) : !startswith(name, "tidemark-")])
    error_message = <<-EOT
      Names that begin with "tidemark-" are kept for the tables of deployments; a transaction must
      never write to those.
    EOT
  }
  validation {
    condition = alltrue([
      for table in values(var.tables) : contains(["transactional", "mixed"], table.access)
    ])
    error_message = "A table's access is \"transactional\" or \"mixed\"."
  }
  validation {
    condition = alltrue([
      for table in values(var.tables) : !(table.history && table.access == "mixed")
    ])
    error_message = <<-EOT
      A mixed table has no history: native writes put nothing aside. Leave out history or access.
    EOT
  }
  validation {
    condition = alltrue([
      for table in values(var.tables) :
      !(table.base && (table.access == "mixed" || table.moving))
    ])
    error_message = <<-EOT
      A mixed table, or one on the way there or back, takes no BASE transactions: native writes look
      at none of their locks. Leave out base, or access and moving.
    EOT
  }
  validation {
    condition = alltrue([
      for table in values(var.tables) : !table.audit || table.access == "mixed"
    ])
    error_message = <<-EOT
      Only a mixed table is audited: of others all writers but transactions are strangers. Leave out
      audit, or set access = "mixed".
    EOT
  }
  validation {
    condition = alltrue(flatten([
      for table in values(var.tables) : [
        for key in [try(table.create.partition_key, null), try(table.create.sort_key, null)] :
        contains(["S", "N", "B"], key.type) if key != null
      ]
    ]))
    error_message = "A key attribute's type is \"S\" (text), \"N\" (number) or \"B\" (bytes)."
  }
  validation {
    condition = alltrue([
      for table in values(var.tables) :
      try(!contains(["_v", "_n", "_f", "_x", "_b"], table.create.partition_key.name), true) &&
      try(!contains(["_v", "_n", "_f", "_x", "_b"], table.create.sort_key.name), true)
    ])
    error_message = "The attributes _v, _n, _f, _x and _b are Tidemark's own and cannot be keys."
  }
  validation {
    condition = alltrue([
      for table in values(var.tables) :
      try(table.create.partition_key.name != table.create.sort_key.name, true)
    ])
    error_message = <<-EOT
      partition_key and sort_key are two attributes: leave sort_key out for a table whose items have
      one key attribute.
    EOT
  }
}

variable "stream" {
  description = <<-EOT
    The commit stream. `retention_hours` is how long replay may be down before payloads are lost. An
    on-demand stream works, costs more, and takes no more: all records have one hash key.
    `enabled = false` is a deployment of tables alone: no stream and no oracle; clients append to
    the log themselves, and one function or some clients keep house (docs/operations.md, Tables
    alone).
    `closing = true` comes before a stream is taken away: its use ends, and the apply waits until
    nobody needs it (docs/operations.md, Taking the stream away).
  EOT
  type = object({
    enabled         = optional(bool, true)
    closing         = optional(bool, false)
    mode            = optional(string, "PROVISIONED")
    shards          = optional(number, 1)
    retention_hours = optional(number, 168)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.stream.enabled || length(var.deployment) <= 27
    error_message = <<-EOT
      Without a stream a deployment's name takes 27 characters: roles take 64, and the function
      housekeeping has a longer name than the others.
    EOT
  }
  validation {
    condition     = var.stream.enabled || !var.stream.closing
    error_message = <<-EOT
      A stream that is closing still stands: leave stream.enabled at true until that is applied, and
      then set it to false and leave stream.closing out.
    EOT
  }
  validation {
    condition     = contains(["PROVISIONED", "ON_DEMAND"], var.stream.mode)
    error_message = "stream.mode is \"PROVISIONED\" or \"ON_DEMAND\"."
  }
  validation {
    condition     = var.stream.shards >= 1 && var.stream.shards <= var.shards
    error_message = <<-EOT
      Each of the deployment's shards is one hash key of the stream, so that more Kinesis shards
      than that stay empty: stream.shards is a whole number from 1 to shards. One Kinesis shard
      takes 1 MB or 1,000 records a second, and a record carries many transactions.
    EOT
  }
  validation {
    condition = (
      var.stream.retention_hours >= 24 &&
      var.stream.retention_hours <= 168 &&
      floor(var.stream.retention_hours) == var.stream.retention_hours
    )
    error_message = <<-EOT
      stream.retention_hours is a whole number from 24 to 168: Kinesis keeps records for a day at
      least, and the log's blocks, which say what became of them, live for eight days.
    EOT
  }
}

variable "shards" {
  description = <<-EOT
    How many shards the deployment has: each is a range of hashes of partitions, with a log of its
    own, which one oracle function serves. A transaction within one costs what it costs on one; over
    several it is prepared in each. Raised later, shards are split while all runs; it is not lowered
    (docs/operations.md, Shards).
  EOT
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.shards >= 1 && var.shards <= 64 && floor(var.shards) == var.shards
    error_message = "shards is a whole number from 1 to 64 (shardsMax)."
  }
}

variable "auto_split" {
  description = <<-EOT
    A function that splits a shard which has been too busy for `window_minutes`: one a time, with
    `cool_down_minutes` in between, up to `shards_max` (docs/operations.md, Shards). Too busy is
    what a log takes a second, in entries or in write units of the log table; or half of that, while
    replay lags by `lag_seconds`. Off by default.
  EOT
  type = object({
    enabled                = optional(bool, false)
    shards_max             = optional(number, 16)
    entries_per_second     = optional(number, 2000)
    write_units_per_second = optional(number, 700)
    lag_seconds            = optional(number, 60)
    window_minutes         = optional(number, 5)
    cool_down_minutes      = optional(number, 15)
  })
  default  = {}
  nullable = false

  validation {
    condition = (
      var.auto_split.shards_max >= 2 && var.auto_split.shards_max <= 64 &&
      floor(var.auto_split.shards_max) == var.auto_split.shards_max
    )
    error_message = "auto_split.shards_max is a whole number from 2 to 64 (shardsMax)."
  }
  validation {
    condition = alltrue([
      for limit in [
        var.auto_split.entries_per_second, var.auto_split.write_units_per_second,
      ] : limit >= 1 && limit <= 1000000 && floor(limit) == limit
    ])
    error_message = <<-EOT
      auto_split.entries_per_second and .write_units_per_second are whole numbers from 1 to 1000000.
    EOT
  }
  validation {
    condition = (
      var.auto_split.lag_seconds >= 1 && var.auto_split.lag_seconds <= 86400 &&
      floor(var.auto_split.lag_seconds) == var.auto_split.lag_seconds
    )
    error_message = "auto_split.lag_seconds is a whole number from 1 to 86400."
  }
  validation {
    condition = (
      var.auto_split.window_minutes >= 1 && var.auto_split.window_minutes <= 60 &&
      floor(var.auto_split.window_minutes) == var.auto_split.window_minutes
    )
    error_message = "auto_split.window_minutes is a whole number from 1 to 60."
  }
  validation {
    condition = (
      var.auto_split.cool_down_minutes >= var.auto_split.window_minutes &&
      var.auto_split.cool_down_minutes <= 10080 &&
      floor(var.auto_split.cool_down_minutes) == var.auto_split.cool_down_minutes
    )
    error_message = <<-EOT
      auto_split.cool_down_minutes is a whole number from window_minutes to 10080: a shorter one
      would judge a split by the load of before it.
    EOT
  }
}

variable "housekeeping" {
  description = <<-EOT
    What replay and reaper do, in a deployment of tables alone: one function, once a minute. With
    `enabled = false` clients do it that have the policy `housekeeping` and createClient's option of
    that name; while none runs, nothing installs what a client that died left behind. With a stream
    replay and reaper are functions of their own, and this says nothing.
  EOT
  type        = object({ enabled = optional(bool, true) })
  default     = {}
  nullable    = false
}

variable "feeds" {
  description = <<-EOT
    Consumers of changes, by name: each a function of a zip of yours, whose handler `feedHandler` of
    the npm package makes. `rate` wakes it, and the commit stream does where there is one, unless
    `wake` says no. It may read and keep its position; with `transactions` it may commit, too.
  EOT
  type = map(object({
    filename        = string
    handler         = optional(string, "index.handler")
    memory_mb       = optional(number, 512)
    timeout_seconds = optional(number, 120)
    rate            = optional(string, "rate(1 minute)")
    wake            = optional(bool, true)
    transactions    = optional(bool, false)
    environment     = optional(map(string), {})
  }))
  default  = {}
  nullable = false

  validation {
    condition = alltrue([
      for name in keys(var.feeds) : can(regex("^[a-z][a-z0-9-]{0,15}$", name))
    ])
    error_message = "A feed has a name of 1 to 16 lower-case letters, digits and dashes."
  }
  validation {
    condition = alltrue([
      for feed in values(var.feeds) : feed.timeout_seconds >= 10 && feed.timeout_seconds <= 900
    ])
    error_message = "timeout_seconds of a feed is from 10 to 900; 5 s are kept for its position."
  }
}

variable "base_runner" {
  description = <<-EOT
    A runner of BASE transactions: a function of a zip of yours, whose handler `baseRunnerHandler`
    of the npm package makes. `rate` wakes it, and it goes on with what no process is at. It has the
    rights of the policy read-write, and with `express`, or without a stream, of that one, too.
  EOT
  type = object({
    filename        = string
    handler         = optional(string, "index.handler")
    memory_mb       = optional(number, 512)
    timeout_seconds = optional(number, 120)
    rate            = optional(string, "rate(1 minute)")
    express         = optional(bool, false)
    environment     = optional(map(string), {})
  })
  default  = null
  nullable = true

  validation {
    condition = try(
      var.base_runner.timeout_seconds >= 15 && var.base_runner.timeout_seconds <= 900,
      var.base_runner == null,
    )
    error_message = <<-EOT
      timeout_seconds of the runner is from 15 to 900; 5 s are kept for the step that is under way.
    EOT
  }
  validation {
    condition     = var.base_runner == null || anytrue(values(var.tables)[*].base)
    error_message = <<-EOT
      There is nothing to run where no table takes BASE transactions: set base = true on those whose
      items they write.
    EOT
  }
}

variable "enhanced_fan_out" {
  description = <<-EOT
    Whether the oracle reads through a consumer of its own (about 50 ms to certification instead of
    600). Off for local clouds, which have none.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "history_retention_minutes" {
  description = <<-EOT
    How long superseded versions of items stay readable on tables with history, and how far back
    asOf reaches. Kept in the control table, where clients and functions find it.
  EOT
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition = (
      var.history_retention_minutes >= 15 &&
      var.history_retention_minutes <= 50400 &&
      floor(var.history_retention_minutes) == var.history_retention_minutes
    )
    error_message = <<-EOT
      history_retention_minutes is a whole number from 15 (a transaction must be able to end) to
      50400 (35 days).
    EOT
  }
}

variable "rest" {
  description = <<-EOT
    The REST service behind an HTTP API. `authorization` is AWS_IAM or JWT; the service itself
    authenticates nobody, so there is no "none". A token needs one of `jwt.scopes`, if any are
    named. `throttling` is in requests a second. `commit` is the SDK's option of that name: which
    way the service's commits go.
  EOT
  type = object({
    enabled       = optional(bool, true)
    authorization = optional(string, "AWS_IAM")
    jwt = optional(
      object({ issuer = string, audience = list(string), scopes = optional(set(string), []) })
    )
    throttling   = optional(object({ rate = number, burst = number }), { rate = 200, burst = 400 })
    cors_origins = optional(list(string), [])
    commit       = optional(string, "auto")
  })
  default  = {}
  nullable = false

  validation {
    condition = contains(
      var.stream.enabled ? ["auto", "express", "stream"] : ["auto", "express"], var.rest.commit
    )
    error_message = <<-EOT
      rest.commit is "auto" (by what serves better), "express" (by blocks of its own) or "stream";
      with stream.enabled = false there is no stream to commit by.
    EOT
  }
  validation {
    condition     = contains(["AWS_IAM", "JWT"], var.rest.authorization)
    error_message = <<-EOT
      rest.authorization is "AWS_IAM" (requests are signed; policy rest_policy_arn allows it) or
      "JWT" (with rest.jwt). The service authenticates nobody by itself, so an open API is not on
      offer.
    EOT
  }
  validation {
    condition     = (var.rest.authorization == "JWT") == (var.rest.jwt != null)
    error_message = <<-EOT
      rest.authorization = "JWT" needs rest.jwt = { issuer, audience }, and AWS_IAM takes none.
    EOT
  }
  validation {
    condition = try(
      startswith(var.rest.jwt.issuer, "https://") && length(var.rest.jwt.audience) > 0,
      var.rest.jwt == null
    )
    error_message = <<-EOT
      rest.jwt.issuer is the https URL that stands as "iss" in the tokens, and rest.jwt.audience
      holds at least one value of "aud": without one every token of the issuer would do.
    EOT
  }
  validation {
    condition = alltrue([
      for scope in try(var.rest.jwt.scopes, []) :
      can(regex("^[!#-\\[\\]-~]+$", scope))
    ])
    error_message = <<-EOT
      rest.jwt.scopes holds scopes as they stand in the tokens' "scope", one each, without spaces
      and quotes, such as "tidemark/transact".
    EOT
  }
  validation {
    condition     = var.rest.throttling.rate > 0 && var.rest.throttling.burst > 0
    error_message = <<-EOT
      rest.throttling.rate and .burst are requests above 0; they bound what a caller can make the
      deployment cost.
    EOT
  }
  validation {
    condition     = !contains(var.rest.cors_origins, "*")
    error_message = <<-EOT
      rest.cors_origins names origins, such as https://shop.example.com: with "*" any page that a
      user visits could use that user's token.
    EOT
  }
  validation {
    condition = alltrue([
      for origin in var.rest.cors_origins :
      origin == "*" || can(regex("^https?://[^/*]+$", origin))
    ])
    error_message = <<-EOT
      An origin is a scheme and a host, such as https://shop.example.com, without a path and without
      a slash at the end: browsers send it so, and the API compares it so.
    EOT
  }
}

variable "kms_key_arn" {
  description = <<-EOT
    A key of your own for stream, tables and logs. Null: the stream is encrypted with the account's
    key for Kinesis, tables with DynamoDB's own key. The key's policy must let CloudWatch Logs of
    this region use it.
  EOT
  type        = string
  default     = null

  validation {
    condition = (
      var.kms_key_arn == null ||
      can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/", var.kms_key_arn))
    )
    error_message = <<-EOT
      kms_key_arn is the ARN of a key (arn:aws:kms:…:key/…), not an alias: policies need the key
      itself.
    EOT
  }
}

variable "table_kms_key_arns" {
  description = <<-EOT
    Keys that adopted tables are encrypted with, where they are not kms_key_arn or AWS's own.
  EOT
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition = alltrue([
      for arn in var.table_kms_key_arns :
      can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/", arn))
    ])
    error_message = <<-EOT
      table_kms_key_arns holds ARNs of keys (arn:aws:kms:…:key/…), not aliases: policies need the
      keys themselves. A table with DynamoDB's own key or AWS's needs no entry.
    EOT
  }
}

variable "deletion_protection" {
  description = <<-EOT
    Protects every table that the module makes, and with the tables the stream: destroy fails before
    it loses data. Set it to false and apply before you destroy for good.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "point_in_time_recovery" {
  description = <<-EOT
    Continuous backups of the log and control tables. Tables that the module creates for you have
    their own setting.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "log_level" {
  description = <<-EOT
    What functions log: DEBUG, INFO, WARN, ERROR or SILENT. Metrics come through the log, whatever
    the level.
  EOT
  type        = string
  default     = "INFO"
  nullable    = false

  validation {
    condition     = contains(["DEBUG", "INFO", "WARN", "ERROR", "SILENT"], var.log_level)
    error_message = "log_level is one of DEBUG, INFO, WARN, ERROR, SILENT."
  }
}

variable "log_retention_days" {
  description = "How long CloudWatch keeps the functions' logs and the API's access logs."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition = contains(
      [
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
        3288, 3653
      ],
      var.log_retention_days
    )
    error_message = <<-EOT
      CloudWatch keeps logs for 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731 days,
      or one of the longer steps of its documentation. For ever (0) is refused: logs are a cost
      without end.
    EOT
  }
}

variable "memory_mb" {
  description = <<-EOT
    Memory by function, where functions.json does not fit. CPU grows with it; 1769 MB are one core.
  EOT
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition = alltrue([
      for name in keys(var.memory_mb) :
      contains(
        [
          "oracle", "replay", "reaper", "housekeeping", "splitter", "api", "auditor", "provision"
        ],
        name
      )
    ])
    error_message = <<-EOT
      memory_mb takes the functions oracle, replay, reaper, housekeeping, splitter, api, auditor and
      provision.
    EOT
  }
  validation {
    condition = length(setintersection(
      keys(var.memory_mb),
      concat(
        var.stream.enabled ? [] : ["oracle", "replay", "reaper"],
        !var.stream.enabled && var.housekeeping.enabled ? [] : ["housekeeping"],
      ),
    )) == 0
    error_message = <<-EOT
      memory_mb names a function that this deployment does not have: oracle, replay and reaper
      belong to a stream, and housekeeping, unless it is left to clients, stands for them where
      stream.enabled = false.
    EOT
  }
  validation {
    condition     = alltrue([for size in values(var.memory_mb) : size >= 256 && size <= 10240])
    error_message = <<-EOT
      A function takes 256 to 10240 MB here; below, the AWS SDK alone makes cold starts slow.
    EOT
  }
}

variable "reserved_concurrency" {
  description = <<-EOT
    Concurrent executions kept for a function, such as { oracle = 2, replay = 3 }: other functions
    of the account can then not starve it. Default: none, since new accounts have too few to keep
    any.
  EOT
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition = alltrue([
      for name in keys(var.reserved_concurrency) :
      contains(["oracle", "replay", "reaper", "housekeeping", "splitter", "api", "auditor"], name)
    ])
    error_message = <<-EOT
      reserved_concurrency takes the functions oracle, replay, reaper, housekeeping, splitter, api
      and auditor.
    EOT
  }
  validation {
    condition = length(setintersection(
      keys(var.reserved_concurrency),
      concat(
        var.stream.enabled ? [] : ["oracle", "replay", "reaper"],
        !var.stream.enabled && var.housekeeping.enabled ? [] : ["housekeeping"],
      ),
    )) == 0
    error_message = <<-EOT
      reserved_concurrency names a function that this deployment does not have: oracle, replay and
      reaper belong to a stream, and housekeeping, unless it is left to clients, stands for them
      where stream.enabled = false.
    EOT
  }
  validation {
    condition = alltrue([
      for name, kept in var.reserved_concurrency :
      kept >= (name == "replay" ? 2 : 1)
    ])
    error_message = <<-EOT
      Keep at least 1, and 2 for replay, whose schedule runs beside its stream; 0 would switch the
      function off.
    EOT
  }
}

variable "alarms" {
  description = <<-EOT
    CloudWatch alarms. `actions` are ARNs to tell (SNS topics); docs/operations.md says what to do
    about each.
  EOT
  type = object({
    enabled                     = optional(bool, true)
    actions                     = optional(list(string), [])
    oracle_iterator_age_seconds = optional(number, 10)
    replay_iterator_age_seconds = optional(number, 300)
    watermark_lag_seconds       = optional(number, 60)
    oldest_open_seconds         = optional(number, 120)
    conflict_percent            = optional(number, 20)
  })
  default  = {}
  nullable = false

  validation {
    condition = (
      !var.stream.enabled ||
      var.alarms.replay_iterator_age_seconds * 2 <= var.stream.retention_hours * 3600
    )
    error_message = <<-EOT
      alarms.replay_iterator_age_seconds must leave half of the stream's retention to act: beyond it
      payloads are lost.
    EOT
  }
  validation {
    condition = min(
      var.alarms.oracle_iterator_age_seconds,
      var.alarms.replay_iterator_age_seconds,
      var.alarms.watermark_lag_seconds,
      var.alarms.oldest_open_seconds
    ) > 0
    error_message = <<-EOT
      The alarms' ages and lag are seconds above 0; at 0 every record would be too old. To have no
      alarms, set alarms.enabled = false.
    EOT
  }
  validation {
    condition     = var.alarms.conflict_percent > 0 && var.alarms.conflict_percent < 100
    error_message = <<-EOT
      alarms.conflict_percent is a share of the decisions, above 0 and below 100: beyond it the
      alarm fires.
    EOT
  }
  validation {
    condition     = alltrue([for action in var.alarms.actions : can(regex("^arn:", action))])
    error_message = <<-EOT
      alarms.actions holds ARNs of what to tell, such as an SNS topic's (aws_sns_topic.alarms.arn);
      an address subscribes to the topic.
    EOT
  }
}

variable "functions_path" {
  description = <<-EOT
    Folder of the functions' zips. Default: where the published package, and
    `npm run build:functions` in a clone, have them.
  EOT
  type        = string
  default     = null
}

variable "local_endpoints" {
  description = <<-EOT
    Where functions find DynamoDB and Kinesis in a local cloud, as seen from a function. Null on
    AWS.
  EOT
  type        = object({ dynamodb = string, kinesis = string })
  default     = null

  validation {
    condition = (
      var.local_endpoints == null ||
      try(
        alltrue([for url in values(var.local_endpoints) : can(regex("^https?://[^/]+$", url))]),
        false
      )
    )
    error_message = <<-EOT
      local_endpoints are addresses such as http://localhost.localstack.cloud:4566, without a path.
      On AWS leave it out: functions find their region's endpoints by themselves.
    EOT
  }
}

variable "tags" {
  description = "Tags for everything that the module makes, beside its own."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition = alltrue([
      for key in keys(var.tags) :
      !startswith(key, "tidemark:") && !startswith(key, "aws:")
    ])
    error_message = <<-EOT
      Tags that begin with "tidemark:" are set by the module, and "aws:" is AWS's own.
    EOT
  }
}
