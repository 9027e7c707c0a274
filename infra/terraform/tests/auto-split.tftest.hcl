# The splitter: there where it is asked for, with rights to logs and map, and to no table.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
  tables     = { stock = {} }
}

run "nothing_is_split_unless_it_is_asked_for" {
  assert {
    condition     = !contains(keys(aws_lambda_function.this), "splitter")
    error_message = "auto_split is off by default."
  }
}

run "the_splitter_is_told_when_to_split" {
  variables {
    auto_split = { enabled = true, shards_max = 8, window_minutes = 2 }
  }
  assert {
    condition = alltrue([
      for name, value in {
        TIDEMARK_SPLIT_SHARDS_MAX             = "8"
        TIDEMARK_SPLIT_ENTRIES_PER_SECOND     = "2000"
        TIDEMARK_SPLIT_WRITE_UNITS_PER_SECOND = "700"
        TIDEMARK_SPLIT_LAG_SECONDS            = "60"
        TIDEMARK_SPLIT_WINDOW_SECONDS         = "120"
        TIDEMARK_SPLIT_COOL_DOWN_SECONDS      = "900"
      } : aws_lambda_function.this["splitter"].environment[0].variables[name] == value
    ])
    error_message = "What is said is said to the function, in seconds."
  }
  assert {
    condition = (
      aws_cloudwatch_event_rule.schedule["splitter"].schedule_expression == "rate(1 minute)" &&
      aws_cloudwatch_metric_alarm.this["splitter-errors"].threshold == 0
    )
    error_message = "A schedule wakes it, and an alarm says when it fails."
  }
  assert {
    condition = !strcontains(
      aws_iam_role_policy.function["splitter"].policy, ":table/stock"
    )
    error_message = "It touches no table of the user's."
  }
}

run "tables_alone_are_split_as_well" {
  variables {
    stream     = { enabled = false }
    auto_split = { enabled = true }
  }
  assert {
    condition     = !strcontains(aws_iam_role_policy.function["splitter"].policy, "kinesis:")
    error_message = "Where there is no stream there is none to look at."
  }
}
