# The examples plan, and hand out what their readers need.

mock_provider "aws" {
  source = "./tests/mocks"
}

run "complete" {
  module {
    source = "./examples/complete"
  }
  variables {
    adopted_tables = ["stock"]
  }
  assert {
    condition     = output.sdk == { deployment = "shop", region = "eu-west-1" }
    error_message = "The SDK's options."
  }
  assert {
    condition     = module.tidemark.user_tables == tolist(["accounts", "ledger", "stock"])
    error_message = "Made and adopted tables."
  }
}

run "localstack" {
  module {
    source = "./examples/localstack"
  }
  assert {
    condition     = output.deployment == "local" && output.rest_api_id != null
    error_message = "What test:deployed takes."
  }
}

run "localstack_without_rest" {
  module {
    source = "./examples/localstack"
  }
  variables {
    rest = false
  }
  assert {
    condition     = output.rest_api_id == null
    error_message = "LocalStack's free edition has no HTTP APIs."
  }
}

run "localstack_is_never_aws" {
  command = plan
  module {
    source = "./examples/localstack"
  }
  variables {
    endpoint = "https://dynamodb.eu-west-1.amazonaws.com"
  }
  expect_failures = [var.endpoint]
}
