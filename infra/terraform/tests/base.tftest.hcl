# BASE transactions: where a table takes them there is one table more, which clients and functions
# use as they use those of the user.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
}

run "without_base_transactions_there_is_no_table_for_them" {
  variables {
    tables = { stock = {} }
  }
  assert {
    condition     = join(" ", sort(keys(aws_dynamodb_table.system))) == "control log versions"
    error_message = "Nobody pays for what nobody has asked for."
  }
  assert {
    condition = alltrue([
      for policy in aws_iam_policy.sdk : !strcontains(policy.policy, "tidemark-shop-base")
    ])
    error_message = "Nor has anybody rights on it."
  }
}

run "one_table_that_takes_them_makes_the_table_for_all" {
  variables {
    tables = { stock = {}, seats = { history = true, base = true } }
  }
  assert {
    condition = (
      aws_dynamodb_table.system["base"].name == "tidemark-shop-base" &&
      aws_dynamodb_table.system["base"].hash_key == "pk" &&
      aws_dynamodb_table.system["base"].range_key == "sk"
    )
    error_message = "Name and keys are those that clients look for (core/base-tables.ts)."
  }
  assert {
    condition = (
      aws_dynamodb_table.system["base"].ttl[0].enabled &&
      aws_dynamodb_table.system["base"].ttl[0].attribute_name == "expiresAt" &&
      aws_dynamodb_table.system["base"].billing_mode == "PAY_PER_REQUEST" &&
      aws_dynamodb_table.system["base"].deletion_protection_enabled &&
      aws_dynamodb_table.system["base"].point_in_time_recovery[0].enabled
    )
    error_message = "It is on demand, protected and backed up, and what has ended expires."
  }
  assert {
    condition = jsondecode(aws_lambda_invocation.provision.input).tables == [
      { name = "seats", history = true, access = "transactional", base = true },
      { name = "stock", history = false, access = "transactional", base = false },
    ]
    error_message = "Provision registers the table for them with the first that takes them."
  }
  assert {
    condition     = join(" ", output.user_tables) == "seats stock"
    error_message = "It is none of the user's."
  }
}

run "who_has_rights_on_the_tables_of_the_user_has_them_on_it" {
  variables {
    tables = { seats = { history = true, base = true } }
  }
  assert {
    condition = alltrue(flatten([
      for policy in concat(
        values(aws_iam_policy.sdk)[*].policy,
        values(aws_iam_role_policy.function)[*].policy,
        ) : [
        for statement in jsondecode(policy).Statement :
        contains(
          statement.Resource,
          "arn:aws:dynamodb:eu-west-1:123456789012:table/seats"
          ) == contains(
          statement.Resource,
          "arn:aws:dynamodb:eu-west-1:123456789012:table/tidemark-shop-base"
        )
      ]
    ]))
    error_message = "Steps commit to both at once, and replay installs both."
  }
  assert {
    condition = anytrue(flatten([
      for statement in jsondecode(aws_iam_policy.sdk["read-write"].policy).Statement :
      contains(
        statement.Resource,
        "arn:aws:dynamodb:eu-west-1:123456789012:table/tidemark-shop-base"
      ) if contains(statement.Action, "dynamodb:PutItem")
    ]))
    error_message = "A client installs what its steps have put there."
  }
}

run "without_a_runner_there_is_nothing_of_it" {
  variables {
    tables = { seats = { base = true } }
  }
  assert {
    condition = (
      length(aws_lambda_function.base_runner) == 0 &&
      length(aws_cloudwatch_event_rule.base_runner) == 0 &&
      length(aws_iam_role_policy_attachment.base_runner) == 0 &&
      !contains(keys(aws_cloudwatch_metric_alarm.this), "base-parked")
    )
    error_message = "A runner may be a process of the user's own."
  }
}

run "a_runner_is_woken_each_minute_with_the_rights_of_a_client_that_writes" {
  variables {
    tables      = { seats = { base = true } }
    base_runner = { filename = "runner.zip", environment = { CARDS = "https://cards.example" } }
  }
  assert {
    condition = (
      aws_lambda_function.base_runner["base-runner"].function_name == "tidemark-shop-base-runner" &&
      aws_lambda_function.base_runner["base-runner"].filename == "runner.zip" &&
      aws_lambda_function.base_runner["base-runner"].environment[0].variables == tomap({
        TIDEMARK_DEPLOYMENT = "shop"
        CARDS               = "https://cards.example"
      }) &&
      aws_cloudwatch_event_rule.base_runner["base-runner"].schedule_expression == "rate(1 minute)"
    )
    error_message = "It is the user's zip, which is told of its deployment."
  }
  assert {
    condition     = join(" ", keys(aws_iam_role_policy_attachment.base_runner)) == "read-write"
    error_message = "Its steps are those of any client that writes."
  }
  assert {
    condition = (
      aws_cloudwatch_metric_alarm.this["base-parked"].metric_name == "BaseParked" &&
      aws_cloudwatch_metric_alarm.this["base-parked"].dimensions == tomap({
        FunctionName = "tidemark-shop-base-runner"
      }) &&
      contains(keys(aws_cloudwatch_metric_alarm.this), "base-without-handler") &&
      contains(keys(aws_cloudwatch_metric_alarm.this), "base-runner-errors")
    )
    error_message = "Somebody is called where something is parked."
  }
}

run "a_runner_appends_blocks_where_it_may_or_must" {
  variables {
    tables      = { seats = { base = true } }
    stream      = { enabled = false }
    base_runner = { filename = "runner.zip" }
  }
  assert {
    condition = (
      join(" ", sort(keys(aws_iam_role_policy_attachment.base_runner))) == "express read-write"
    )
    error_message = "Without a stream nobody else would commit for it."
  }
}

run "the_longest_names_leave_room_for_the_role_of_a_runner" {
  variables {
    deployment  = "abcdefghijabcdefghijabcdefghij"
    tables      = { seats = { base = true } }
    base_runner = { filename = "runner.zip", express = true }
  }
  assert {
    condition     = length(aws_iam_role.base_runner["base-runner"].name) <= 64
    error_message = "A role's name takes 64 characters."
  }
}
