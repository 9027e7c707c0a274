# What a plan or apply of the tests takes for the provider's own answers; read by every test file.
# Computed values that another resource checks for their form need one of that form: the provider
# makes up short random text otherwise, and refuses that as an ARN.

mock_data "aws_caller_identity" {
  defaults = { account_id = "123456789012" }
}

mock_data "aws_partition" {
  defaults = { partition = "aws" }
}

mock_data "aws_region" {
  defaults = { region = "eu-west-1" }
}

mock_resource "aws_kinesis_stream" {
  defaults = { arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/tidemark-mock-commits" }
}

mock_resource "aws_kinesis_stream_consumer" {
  defaults = {
    arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/tidemark-mock-commits/consumer/oracle:1"
  }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = { arn = "arn:aws:logs:eu-west-1:123456789012:log-group:mock" }
}

mock_resource "aws_sns_topic" {
  defaults = { arn = "arn:aws:sns:eu-west-1:123456789012:mock" }
}

mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
}

mock_resource "aws_iam_policy" {
  defaults = { arn = "arn:aws:iam::123456789012:policy/mock" }
}

mock_resource "aws_lambda_function" {
  defaults = {
    arn        = "arn:aws:lambda:eu-west-1:123456789012:function:mock"
    invoke_arn = "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/mock/invocations"
  }
}

mock_resource "aws_dynamodb_table" {
  defaults = {
    arn        = "arn:aws:dynamodb:eu-west-1:123456789012:table/mock"
    stream_arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/mock/stream/2026"
  }
}

mock_data "aws_dynamodb_table" {
  defaults = {
    stream_arn       = "arn:aws:dynamodb:eu-west-1:123456789012:table/mock/stream/2026"
    stream_enabled   = true
    stream_view_type = "NEW_AND_OLD_IMAGES"
  }
}

mock_resource "aws_cloudwatch_event_rule" {
  defaults = { arn = "arn:aws:events:eu-west-1:123456789012:rule/mock" }
}

mock_resource "aws_apigatewayv2_api" {
  defaults = { execution_arn = "arn:aws:execute-api:eu-west-1:123456789012:mock" }
}
