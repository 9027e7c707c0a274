# A deployment with tables of its own, an adopted one, REST with signed requests, and alarms to a
# topic.

terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0, < 7.0"
    }
  }
}

provider "aws" {
  region = var.region
}

variable "region" {
  description = "Where the deployment lives."
  type        = string
  default     = "eu-west-1"
}

variable "deployment" {
  description = "The deployment's name."
  type        = string
  default     = "shop"
}

variable "adopted_tables" {
  description = "Tables that exist already and that transactions may touch."
  type        = set(string)
  default     = []
}

resource "aws_sns_topic" "alarms" {
  name = "tidemark-${var.deployment}-alarms"
}

module "tidemark" {
  # From an application: source = "./node_modules/tidemark/infra/terraform"
  source = "../.."

  deployment = var.deployment

  tables = merge(
    {
      accounts = {
        history = true
        create  = { partition_key = { name = "id", type = "S" } }
      }
      ledger = {
        create = {
          partition_key = { name = "accountId", type = "S" }
          sort_key      = { name = "entryId", type = "S" }
        }
      }
    },
    { for name in var.adopted_tables : name => {} },
  )

  alarms = { actions = [aws_sns_topic.alarms.arn] }
  tags   = { service = "shop" }
}

# The application's own role gets what the SDK needs, and no more.
resource "aws_iam_role" "application" {
  name = "${var.deployment}-backend"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "lambda.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "application" {
  role       = aws_iam_role.application.name
  policy_arn = module.tidemark.policies.read_write_arn
}

output "sdk" {
  description = "For createClient."
  value       = module.tidemark.sdk
}

output "rest_endpoint" {
  description = "For signed requests."
  value       = module.tidemark.rest.endpoint
}
