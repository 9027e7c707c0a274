# A deployment in a local cloud: LocalStack, or the light one of `npm run localstack:light`. What
# differs from AWS is in localstack/README.md.

terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0, < 7.0"
    }
  }
}

module "tidemark" {
  source = "../.."

  deployment = var.deployment

  tables = {
    accounts = {
      history = true
      create  = { partition_key = { name = "id", type = "S" }, point_in_time_recovery = false }
    }
    ledger = {
      create = {
        partition_key          = { name = "accountId", type = "S" }
        sort_key               = { name = "entryId", type = "S" }
        point_in_time_recovery = false
      }
    }
  }

  # What local clouds do not have, and what only costs time there.
  enhanced_fan_out       = false
  deletion_protection    = false
  point_in_time_recovery = false
  alarms                 = { enabled = false }
  rest                   = { enabled = var.rest }

  local_endpoints = {
    dynamodb = var.endpoint_from_functions
    kinesis  = var.endpoint_from_functions
  }
}

output "deployment" {
  description = "For `npm run test:deployed -- --deployment …`."
  value       = module.tidemark.deployment
}

output "rest_api_id" {
  description = "For `npm run test:deployed -- --rest-api-id …`; null without REST."
  value       = try(module.tidemark.rest.api_id, null)
}

output "functions" {
  description = "The functions' names, by role."
  value       = { for name, function in module.tidemark.functions : name => function.name }
}
