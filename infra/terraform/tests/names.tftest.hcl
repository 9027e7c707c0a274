# Several deployments live in one account, and one deployment in several regions.

mock_provider "aws" {
  source = "./tests/mocks"
}

mock_provider "aws" {
  alias  = "elsewhere"
  source = "./tests/mocks"

  mock_data "aws_region" {
    defaults = { region = "ap-southeast-1" }
  }
}

variables {
  tables = { stock = {} }
}

run "one" {
  variables {
    deployment = "a"
  }
  assert {
    condition     = length(distinct(values(output.system_tables)[*].name)) == 3
    error_message = "Each table has a name of its own."
  }
}

# A name that continues the other's is the likeliest to collide.
run "another_whose_name_continues_the_first" {
  variables {
    deployment = "a-log"
  }
  assert {
    condition = length(setintersection(
      concat(
        values(output.system_tables)[*].name,
        values(output.functions)[*].name,
        output.alarm_names,
        [output.stream.name, output.dashboard_name]
      ),
      concat(
        values(run.one.system_tables)[*].name,
        values(run.one.functions)[*].name,
        run.one.alarm_names,
        [run.one.stream.name, run.one.dashboard_name]
      ),
    )) == 0
    error_message = "Two deployments share a name."
  }
}

run "what_is_global_in_an_account_carries_the_region" {
  providers = { aws = aws.elsewhere }
  variables {
    deployment = "a"
  }
  assert {
    condition = (
      output.dashboard_name != run.one.dashboard_name &&
      aws_iam_role.function["oracle"].name == "tidemark-a-ap-southeast-1-oracle" &&
      aws_iam_policy.sdk["read-only"].name == "tidemark-a-ap-southeast-1-read-only"
    )
    error_message = "Roles, policies and dashboards of two regions would collide."
  }
}

run "the_longest_name_fits_everywhere" {
  providers = { aws = aws.elsewhere }
  variables {
    deployment = "abcdefghij-abcdefghij-abcdefgh"
  }
  assert {
    condition = (
      alltrue([for role in aws_iam_role.function : length(role.name) <= 64]) &&
      alltrue([for function in aws_lambda_function.this : length(function.function_name) <= 64])
    )
    error_message = "Roles and functions take 64 characters."
  }
}
