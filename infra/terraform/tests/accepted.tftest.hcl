# What the inputs' messages teach is taken.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  deployment = "shop"
}

run "takes_scopes" {
  command = plan
  variables {
    tables = { stock = {} }
    rest = {
      authorization = "JWT"
      jwt = {
        issuer   = "https://login.example.com"
        audience = ["shop"]
        scopes   = ["tidemark/transact", "openid"]
      }
    }
  }
}

run "takes_what_the_messages_teach" {
  command = plan
  variables {
    tables = {
      stock = {
        create = {
          partition_key = { name = "id", type = "S" }
          sort_key      = { name = "line", type = "N" }
        }
      }
      old     = {}
      carts   = { access = "mixed" }
      baskets = { moving = true }
      seats   = { history = true, base = true }
    }
    stream             = { mode = "ON_DEMAND", retention_hours = 24 }
    base_runner        = { filename = "runner.zip", timeout_seconds = 15 }
    rest               = { cors_origins = ["https://shop.example.com", "http://localhost:3000"] }
    table_kms_key_arns = ["arn:aws:kms:eu-west-1:123456789012:key/1"]
    alarms = {
      actions          = ["arn:aws:sns:eu-west-1:123456789012:alarms"]
      conflict_percent = 50
    }
    local_endpoints = { dynamodb = "http://127.0.0.1:4566", kinesis = "http://127.0.0.1:4566" }
  }
}
