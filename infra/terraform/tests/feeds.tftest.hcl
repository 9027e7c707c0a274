# Consumers of changes: functions of the user's own bundles.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
}

run "without_feeds_there_is_nothing_of_them" {
  assert {
    condition = (
      length(aws_lambda_function.feed) == 0 &&
      length(aws_lambda_event_source_mapping.feed) == 0 &&
      length(aws_cloudwatch_event_rule.feed) == 0
    )
    error_message = "A consumer may be a process of the user's own."
  }
}

run "a_feed_is_woken_by_the_stream_and_by_a_schedule_and_only_reads" {
  variables {
    feeds = { search = { filename = "search.zip", environment = { INDEX = "books" } } }
  }
  assert {
    condition = (
      aws_lambda_function.feed["search"].function_name == "tidemark-shop-feed-search" &&
      aws_lambda_function.feed["search"].filename == "search.zip" &&
      aws_lambda_function.feed["search"].environment[0].variables == tomap({
        TIDEMARK_DEPLOYMENT = "shop"
        INDEX               = "books"
      }) &&
      aws_cloudwatch_event_rule.feed["search"].schedule_expression == "rate(1 minute)" &&
      aws_lambda_event_source_mapping.feed["search"].starting_position == "LATEST"
    )
    error_message = "It is the user's zip, which is told of its deployment."
  }
  assert {
    condition = (
      join(" ", sort(keys(aws_iam_role_policy_attachment.feed))) ==
      "search/feeds search/read-only"
    )
    error_message = "It reads, and keeps its position."
  }
}

run "one_that_commits_has_the_rights_of_a_client_that_writes" {
  variables {
    feeds = { stock = { filename = "stock.zip", transactions = true, wake = false } }
  }
  assert {
    condition = (
      join(" ", sort(keys(aws_iam_role_policy_attachment.feed))) ==
      "stock/feeds stock/read-only stock/read-write"
    )
    error_message = "What it does into tables of the deployment is a transaction."
  }
  assert {
    condition     = length(aws_lambda_event_source_mapping.feed) == 0
    error_message = "The schedule alone wakes it."
  }
}

run "without_a_stream_the_schedule_wakes_it_and_it_appends_blocks" {
  variables {
    stream = { enabled = false }
    feeds  = { stock = { filename = "stock.zip", transactions = true } }
  }
  assert {
    condition = (
      length(aws_lambda_event_source_mapping.feed) == 0 &&
      length(aws_iam_role_policy.feed_stream) == 0 &&
      contains(keys(aws_iam_role_policy_attachment.feed), "stock/express")
    )
    error_message = "There is nothing else to wake it, and no oracle to commit for it."
  }
}
