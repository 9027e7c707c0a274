# The deployment: log, stream, functions and the tables that transactions may touch. On AWS, or with
# `-var localstack=true` in the LocalStack of compose.yaml.

terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0, < 7.0"
    }
  }
}

variable "deployment" {
  description = "The deployment's name: what TIDEMARK_DEPLOYMENT says to the application."
  type        = string
  default     = "my-tidemark-app"
}

variable "region" {
  description = "Where it lives."
  type        = string
  default     = "us-east-1"
}

variable "localstack" {
  description = "Deploy to LocalStack on this machine, and not to AWS."
  type        = bool
  default     = false
}

locals {
  from_here      = var.localstack ? "http://127.0.0.1:4566" : null
  from_functions = "http://localhost.localstack.cloud:4566"
}

provider "aws" {
  region     = var.region
  access_key = var.localstack ? "test" : null
  secret_key = var.localstack ? "test" : null

  skip_credentials_validation = var.localstack ? true : null
  skip_metadata_api_check     = var.localstack ? true : null

  endpoints {
    cloudwatch     = local.from_here
    cloudwatchlogs = local.from_here
    dynamodb       = local.from_here
    eventbridge    = local.from_here
    iam            = local.from_here
    kinesis        = local.from_here
    lambda         = local.from_here
    sts            = local.from_here
  }
}

module "tidemark" {
  source = "../node_modules/tidemark/infra/terraform"

  deployment = var.deployment

  tables = {
    accounts = {
      create = {
        partition_key          = { name = "id", type = "S" }
        point_in_time_recovery = !var.localstack
      }
    }
  }

  # What LocalStack does not have, and what only costs time there.
  enhanced_fan_out       = !var.localstack
  deletion_protection    = !var.localstack
  point_in_time_recovery = !var.localstack
  alarms                 = { enabled = !var.localstack }
  rest                   = { enabled = !var.localstack }

  local_endpoints = (
    var.localstack ? { dynamodb = local.from_functions, kinesis = local.from_functions } : null
  )
}

output "sdk" {
  description = "For createClient."
  value       = module.tidemark.sdk
}

output "policies" {
  description = "Give the application's role read_write_arn."
  value       = module.tidemark.policies
}
