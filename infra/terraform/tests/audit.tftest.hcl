# The auditor: there where a table is audited, and with rights to the streams of such tables alone.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
}

run "nothing_is_audited_unless_it_is_asked_for" {
  variables {
    tables = { carts = { access = "mixed" } }
  }
  assert {
    condition     = !contains(keys(aws_lambda_function.this), "auditor")
    error_message = "Without an audited table there is no auditor."
  }
  assert {
    condition     = length(aws_lambda_event_source_mapping.audit) == 0
    error_message = "Nor does it read any table's stream."
  }
}

run "audited_tables_are_read_by_their_streams" {
  variables {
    tables = {
      stock = {}
      carts = { access = "mixed", audit = true }
      made = {
        access = "mixed"
        audit  = true
        create = { partition_key = { name = "pk", type = "S" } }
      }
    }
  }
  assert {
    condition     = sort(keys(aws_lambda_event_source_mapping.audit)) == ["carts", "made"]
    error_message = "Each audited table has a mapping."
  }
  assert {
    condition = alltrue([
      for mapping in values(aws_lambda_event_source_mapping.audit) :
      mapping.starting_position == "LATEST" && mapping.maximum_retry_attempts == 2
    ])
    error_message = "It is about who writes now, and holds up nothing."
  }
  assert {
    condition = (
      aws_dynamodb_table.user["made"].stream_enabled &&
      aws_dynamodb_table.user["made"].stream_view_type == "NEW_AND_OLD_IMAGES"
    )
    error_message = "A table that the module makes gets the stream that it needs."
  }
  assert {
    condition = alltrue([
      for statement in jsondecode(aws_iam_role_policy.function["auditor"].policy).Statement :
      statement.Resource == [
        "arn:aws:dynamodb:eu-west-1:123456789012:table/carts/stream/*",
        "arn:aws:dynamodb:eu-west-1:123456789012:table/made/stream/*",
      ]
    ])
    error_message = "The auditor reads these streams, and nothing else."
  }
}
