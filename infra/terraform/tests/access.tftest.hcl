# Who may do what, as policies stand in a plan. test/deploy/grants.test.ts derives the same from
# recorded calls.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
  tables     = { stock = {} }
}

run "no_policy_has_a_wildcard_for_an_action_or_a_table" {
  assert {
    condition = alltrue(flatten([
      for policy in concat(
        values(aws_iam_role_policy.function)[*].policy, values(aws_iam_policy.sdk)[*].policy
        ) : [
        for statement in jsondecode(policy).Statement : concat(
          [for action in flatten([statement.Action]) : !strcontains(action, "*")],
          [
            for resource in statement.Resource :
            can(
              regex(
                "^arn:aws:(dynamodb|kinesis):eu-west-1:123456789012:[^*]+(/index/\\*)?$",
                resource
              )
            ) ||
            resource == aws_kinesis_stream_consumer.oracle[0].arn
          ],
        )
      ]
    ]))
    error_message = "Actions and resources are named one by one."
  }
}

run "the_oracle_writes_blocks_and_nothing_else" {
  assert {
    condition = [
      for statement in jsondecode(aws_iam_role_policy.function["oracle"].policy).Statement :
      [statement.Resource, statement.Condition] if contains(statement.Action, "dynamodb:PutItem")
      ] == [[
        ["arn:aws:dynamodb:eu-west-1:123456789012:table/tidemark-shop-log"],
        { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["shardId-*"] } },
    ]]
    error_message = <<-EOT
      The oracle puts under shard ids in the log, and touches no table of the user's.
    EOT
  }
}

run "a_reader_writes_nothing" {
  assert {
    condition = alltrue(flatten([
      for statement in jsondecode(aws_iam_policy.sdk["read-only"].policy).Statement : [
        for action in statement.Action : contains(
          ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"],
          action
        )
      ]
    ]))
    error_message = "The read-only policy reads."
  }
}

run "a_client_cannot_write_blocks_watermarks_or_the_registry" {
  assert {
    condition = alltrue([
      for statement in jsondecode(aws_iam_policy.sdk["read-write"].policy).Statement :
      contains(
        [["spill#*"], ["idempotency#*"]],
        statement.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
      )
      if contains(statement.Action, "dynamodb:PutItem") && anytrue([
        for name in ["log", "control"] : contains(
          statement.Resource,
          "arn:aws:dynamodb:eu-west-1:123456789012:table/tidemark-shop-${name}"
        )
      ])
    ])
    error_message = <<-EOT
      In the log a client puts spilled chunks, in the control table idempotency entries.
    EOT
  }
  assert {
    condition     = !strcontains(aws_iam_policy.sdk["read-write"].policy, "DeleteItem")
    error_message = "Deletes are tombstones, which are put."
  }
}

run "of_mixed_tables_alone_items_are_updated_and_deleted_by_clients" {
  variables {
    tables = { stock = {}, carts = { access = "mixed" }, old = { moving = true } }
  }
  assert {
    condition = [
      for statement in jsondecode(aws_iam_policy.sdk["read-write"].policy).Statement :
      [statement.Resource, statement.Action]
      if contains(statement.Action, "dynamodb:UpdateItem") ||
      contains(statement.Action, "dynamodb:DeleteItem")
      ] == [[
        [
          "arn:aws:dynamodb:eu-west-1:123456789012:table/carts",
          "arn:aws:dynamodb:eu-west-1:123456789012:table/old",
        ],
        ["dynamodb:DeleteItem", "dynamodb:UpdateItem"],
    ]]
    error_message = <<-EOT
      Fences are updates, and deletes leave no tombstone, on mixed tables and on the way there.
    EOT
  }
  assert {
    condition = alltrue([
      for role in ["replay", "reaper"] : alltrue([
        for statement in jsondecode(aws_iam_role_policy.function[role].policy).Statement :
        statement.Resource == ["arn:aws:dynamodb:eu-west-1:123456789012:table/carts"]
        if contains(statement.Action, "dynamodb:UpdateItem")
      ])
    ])
    error_message = "Nobody updates items of other tables."
  }
}

run "clients_that_keep_house_move_watermarks_and_delete_but_append_nothing" {
  assert {
    condition = sort(flatten([
      for statement in jsondecode(aws_iam_policy.sdk["housekeeping"].policy).Statement : [
        for action in statement.Action : "${statement.Sid} ${action}"
      ]
      ])) == [
      "KeepHouseFindAndDropQueued dynamodb:DeleteItem",
      "KeepHouseFindAndDropQueued dynamodb:Query",
      "KeepHouseInstallIdempotencyEntries dynamodb:BatchGetItem",
      "KeepHouseMoveWatermarkAndQueue dynamodb:PutItem",
      "KeepHouseRemoveTombstones dynamodb:DeleteItem",
      "KeepHouseTakeTurns dynamodb:GetItem",
      "KeepHouseTakeTurns dynamodb:PutItem",
    ]
    error_message = "What comes beside read-write and express."
  }
  assert {
    condition     = output.policies.housekeeping_arn == aws_iam_policy.sdk["housekeeping"].arn
    error_message = "Applications are given it by name."
  }
}

run "express_appends_blocks_and_nothing_else" {
  assert {
    condition = [
      for statement in jsondecode(aws_iam_policy.sdk["express"].policy).Statement :
      [statement.Action, statement.Resource, statement.Condition]
      ] == [[
        ["dynamodb:PutItem"],
        ["arn:aws:dynamodb:eu-west-1:123456789012:table/tidemark-shop-log"],
        { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["shardId-*"] } },
    ]]
    error_message = "Beside read-write, express puts under shard ids in the log."
  }
  assert {
    condition     = output.policies.express_arn == aws_iam_policy.sdk["express"].arn
    error_message = "Applications are told the policy."
  }
  assert {
    condition = anytrue([
      for statement in jsondecode(aws_iam_role_policy.function["api"].policy).Statement :
      statement.Sid == "ExpressAppendBlocks"
    ])
    error_message = "REST commits express for callers that may not."
  }
}

run "only_the_function_writes_to_its_log" {
  assert {
    condition = alltrue([
      for name, policy in aws_iam_role_policy.function_logs :
      (
        jsondecode(policy.policy).Statement[0].Resource ==
        "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/tidemark-shop-${name}:*"
      )
    ])
    error_message = "Each function writes to its own log group, which exists already."
  }
}

run "without_a_consumer_nobody_may_subscribe" {
  variables {
    enhanced_fan_out = false
  }
  assert {
    condition = (
      !strcontains(aws_iam_role_policy.function["oracle"].policy, "SubscribeToShard") &&
      length(aws_kinesis_stream_consumer.oracle) == 0
    )
    error_message = "No consumer, no right to use one."
  }
  assert {
    condition = (
      aws_lambda_event_source_mapping.stream["oracle"].event_source_arn ==
      aws_kinesis_stream.commits[0].arn
    )
    error_message = "The oracle then reads the shared iterator."
  }
}

run "a_key_of_ones_own_encrypts_everything_and_is_used_through_services" {
  variables {
    kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:key/1111-2222"
  }
  assert {
    condition = (
      aws_kinesis_stream.commits[0].kms_key_id == var.kms_key_arn &&
      alltrue([
        for table in aws_dynamodb_table.system :
        table.server_side_encryption[0].enabled &&
        table.server_side_encryption[0].kms_key_arn == var.kms_key_arn
      ]) &&
      alltrue([
        for group in aws_cloudwatch_log_group.function :
        group.kms_key_id == var.kms_key_arn
      ])
    )
    error_message = "Stream, tables and logs use the key."
  }
  assert {
    condition = alltrue([
      for policy in aws_iam_role_policy.function : anytrue([
        for statement in jsondecode(policy.policy).Statement :
        (
          statement.Sid == "UseKeys" &&
          try(statement.Condition.StringEquals["kms:ViaService"], []) ==
          ["dynamodb.eu-west-1.amazonaws.com", "kinesis.eu-west-1.amazonaws.com"]
        )
      ])
    ])
    error_message = "Functions use the key through DynamoDB and Kinesis only."
  }
}

run "a_reader_cannot_encrypt" {
  variables {
    kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:key/1111-2222"
  }
  assert {
    condition = {
      for name, policy in aws_iam_policy.sdk : name => [
        for statement in jsondecode(policy.policy).Statement :
        contains(statement.Action, "kms:Encrypt")
        if statement.Sid == "UseKeys"
      ]
    } == { express = [], housekeeping = [], read-only = [false], read-write = [true] }
    error_message = "Who only reads can decrypt, and no more."
  }
  assert {
    condition = [
      for statement in jsondecode(aws_iam_policy.sdk["read-only"].policy).Statement :
      statement.Action
      if statement.Sid == "UseKeys"
    ] == [["kms:Decrypt", "kms:DescribeKey"]]
    error_message = "What a reader may do with a key."
  }
}

run "jwt_replaces_signatures" {
  variables {
    rest = {
      authorization = "JWT"
      jwt = {
        issuer   = "https://login.example.com"
        audience = ["shop"]
        scopes   = ["tidemark/transact"]
      }
      cors_origins = ["https://shop.example.com"]
    }
  }
  assert {
    condition = (
      aws_apigatewayv2_route.rest[0].authorization_type == "JWT" &&
      aws_apigatewayv2_route.rest[0].authorizer_id == aws_apigatewayv2_authorizer.jwt[0].id &&
      length(aws_iam_policy.rest) == 0
    )
    error_message = "The authorizer guards the route."
  }
  assert {
    condition = (
      aws_apigatewayv2_route.rest[0].authorization_scopes == toset(["tidemark/transact"])
    )
    error_message = "The route asks for the scopes."
  }
  assert {
    condition = (
      jsondecode(aws_apigatewayv2_stage.rest[0].access_log_settings[0].format).subject ==
      "$context.authorizer.claims.sub"
    )
    error_message = "The access log says whose token it was."
  }
  assert {
    condition = (
      aws_apigatewayv2_api.rest[0].cors_configuration[0].allow_origins ==
      toset(["https://shop.example.com"])
    )
    error_message = "Only the named origins."
  }
}

run "rest_can_be_left_out" {
  variables {
    rest = { enabled = false }
  }
  assert {
    condition = (
      length(aws_apigatewayv2_api.rest) == 0 &&
      !contains(keys(aws_lambda_function.this), "api") &&
      output.rest == null
    )
    error_message = "Without REST there is neither API nor function."
  }
}

run "only_lambda_takes_the_functions_roles" {
  assert {
    condition = alltrue(flatten([
      for role in aws_iam_role.function : [
        for statement in jsondecode(role.assume_role_policy).Statement :
        (
          statement.Principal == { Service = "lambda.amazonaws.com" } &&
          statement.Action == "sts:AssumeRole"
        )
      ]
    ]))
    error_message = "Nobody else may act as a function."
  }
}

run "functions_are_invoked_by_their_own_rule_and_api_only" {
  assert {
    condition = alltrue([
      for name, permission in aws_lambda_permission.schedule :
      permission.principal == "events.amazonaws.com" &&
      permission.source_arn == aws_cloudwatch_event_rule.schedule[name].arn
    ])
    error_message = "A schedule's permission names its rule."
  }
  assert {
    condition = (
      aws_lambda_permission.rest[0].principal == "apigateway.amazonaws.com" &&
      aws_lambda_permission.rest[0].source_arn ==
      "${aws_apigatewayv2_api.rest[0].execution_arn}/*/$default"
    )
    error_message = "The API's permission names its route."
  }
}
