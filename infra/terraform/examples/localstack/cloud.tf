# Everything that points Terraform at a local cloud instead of AWS. With `tflocal` this file is not
# needed.

variable "endpoint" {
  description = "The local cloud, as seen from here."
  type        = string
  default     = "http://127.0.0.1:4566"

  validation {
    condition = can(
      regex(
        "^https?://(127\\.0\\.0\\.1|localhost(\\.localstack\\.cloud)?|localstack)(:[0-9]+)?$",
        var.endpoint
      )
    )
    error_message = <<-EOT
      endpoint is a local cloud, such as http://127.0.0.1:4566. This example has no protection
      against deletion and does not belong on AWS.
    EOT
  }
}

variable "endpoint_from_functions" {
  description = <<-EOT
    The same, as seen from inside a function: LocalStack's containers reach it under another name.
  EOT
  type        = string
  default     = "http://127.0.0.1:4566"
}

variable "deployment" {
  description = "The deployment's name."
  type        = string
  default     = "local"
}

variable "rest" {
  description = "Whether to deploy REST. LocalStack's free edition has no HTTP APIs."
  type        = bool
  default     = true
}

provider "aws" {
  region     = "us-east-1"
  access_key = "test"
  secret_key = "test"

  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = false

  endpoints {
    apigatewayv2   = var.endpoint
    cloudwatch     = var.endpoint
    cloudwatchlogs = var.endpoint
    dynamodb       = var.endpoint
    eventbridge    = var.endpoint
    iam            = var.endpoint
    kinesis        = var.endpoint
    lambda         = var.endpoint
    sts            = var.endpoint
  }
}
