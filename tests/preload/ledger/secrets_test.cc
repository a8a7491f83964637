#include "preload/ledger/secrets.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace plateau {
namespace {

// Words that are separated by spaces here are separated by zeros in a command line.
std::string Mask(std::string words) {
  for (char& c : words) {
    if (c == ' ') c = '\0';
  }
  char out[4096];
  std::string masked(out, MaskArguments(words, out, sizeof(out)));
  for (char& c : masked) {
    if (c == '\0') c = ' ';
  }
  return masked;
}

std::string Value(std::string_view name, std::string_view value) {
  char out[4096];
  return {out, MaskValue(name, value, out, sizeof(out))};
}

TEST(SecretsTest, OptionsWhoseNamesSaySo) {
  EXPECT_EQ(Mask("train.py --token abc --epochs 3"), "train.py --token *** --epochs 3");
  EXPECT_EQ(Mask("train.py --api-key=abc --hub_token=x"), "train.py --api-key=*** --hub_token=***");
  EXPECT_EQ(Mask("train.py --wandbApiKey abc"), "train.py --wandbApiKey ***");
  EXPECT_EQ(Mask("train.py wandb.api_key=abc DB_PASSWORD=p@ss=word"),
            "train.py wandb.api_key=*** DB_PASSWORD=***");
  EXPECT_EQ(Mask("curl --password --verbose"), "curl --password --verbose");
}

TEST(SecretsTest, OptionsOfTrainingStay) {
  for (const char* words :
       {"train.py --tokenizer bert-base --max-tokens 512 --num_tokens=64 --pad_token_id 0",
        "train.py --key 3 --auth none",
        "python -m torch.distributed.run --nproc_per_node=8 train.py --lr 1e-4",
        "train.py --output /data/runs/2024-05-01_resnet50_imagenet_bs256_lr0.1_seed42/checkpoint",
        "train.py --model meta-llama/Llama-3.1-8B-Instruct --dataset s3://bucket/path/to/data.parquet",
        "train.py --name really_long_name_of_an_experiment_with_many_words_and_2_numbers_12",
        "train.py --token 512"}) {
    EXPECT_EQ(Mask(words), words);
  }
}

TEST(SecretsTest, AddressesWithPasswords) {
  EXPECT_EQ(Mask("postgres://me:hunter2@db:5432/x"), "postgres://me:***@db:5432/x");
  EXPECT_EQ(Mask("https://ghtokenghtokenghtoken@github.com/a/b"), "https://***@github.com/a/b");
  EXPECT_EQ(Mask("ssh://git@github.com/a/b"), "ssh://git@github.com/a/b");
  EXPECT_EQ(Mask("https://host/p?token=abc&x=1"), "https://host/p?token=***&x=1");
}

TEST(SecretsTest, KeysByTheirLooks) {
  EXPECT_EQ(Mask("hf_abcdefghijklmnopqrst"), "hf_***");
  EXPECT_EQ(Mask("--login sk-proj-abcdefghijklmnop1234"), "--login sk-***");
  EXPECT_EQ(Mask("0123456789abcdef0123456789abcdef01234567"), "***");
  EXPECT_EQ(Mask("x=0123456789abcdef0123456789abcdef01234567.tar"), "x=***.tar");
  EXPECT_EQ(Value("HEADER", "Authorization: Bearer abc.def"), "Authorization: Bearer ***");
}

// One argument, with spaces in it.
std::string MaskOne(std::string_view argument) {
  char out[4096];
  return {out, MaskArguments(argument, out, sizeof(out))};
}

TEST(SecretsTest, NamesWithValuesInsideOfAnArgument) {
  EXPECT_EQ(MaskOne("X-Api-Key: abcdefg"), "X-Api-Key: ***");
  EXPECT_EQ(MaskOne("Authorization: Basic dXNlcjpw"), "Authorization: Basic ***");
  EXPECT_EQ(MaskOne(R"({"api_key": "hunter2", "n": 3})"), R"({"api_key": "***", "n": 3})");
  EXPECT_EQ(MaskOne(R"({"password": "a\"b", "n": 3})"), R"({"password": "***", "n": 3})");
  EXPECT_EQ(MaskOne(R"({\"api_key\": \"hunter2\", \"n\": 3})"), R"({\"api_key\": \"***\", \"n\": 3})");
  EXPECT_EQ(MaskOne("{'password':'hunter2'}"), "{'password':'***'}");
  EXPECT_EQ(MaskOne("import x; token = b'hunter 2'; x.login(token)"),
            "import x; token = b'***'; x.login(token)");
  EXPECT_EQ(MaskOne("import os; os.environ['API_KEY'] = 'hunter 2'; f()"),
            "import os; os.environ['API_KEY'] = '***'; f()");
  EXPECT_EQ(MaskOne("--password=my pass word"), "--password=***");
  EXPECT_EQ(MaskOne("--env=TOKEN=hunter2"), "--env=TOKEN=***");
  EXPECT_EQ(MaskOne("-Dpassword=hunter2"), "-Dpassword=***");
  EXPECT_EQ(MaskOne("pass:hunter2"), "pass:***");
  EXPECT_EQ(MaskOne("--model=hf_abcdefghijklmnopqrst"), "--model=hf_***");
  EXPECT_EQ(MaskOne("key://bucket/name"), "key://bucket/name");
  EXPECT_EQ(MaskOne("for key in rows: print(key)"), "for key in rows: print(key)");
}

TEST(SecretsTest, PasswordsOfUsers) {
  EXPECT_EQ(Mask("curl -u me:hunter2 https://host"), "curl -u me:*** https://host");
  EXPECT_EQ(Mask("curl --user me:hunter2"), "curl --user me:***");
  EXPECT_EQ(Mask("docker run -u 1000:1000 x"), "docker run -u 1000:1000 x");
  EXPECT_EQ(Mask("python -u train.py"), "python -u train.py");
  EXPECT_EQ(Mask("login -token hunter2"), "login -token ***");
}

TEST(SecretsTest, ValuesOfVariables) {
  EXPECT_EQ(Value("AWS_SECRET_ACCESS_KEY", "abc"), "***");
  EXPECT_EQ(Value("RANK", "3"), "3");
  EXPECT_EQ(Value("LD_PRELOAD", "/usr/lib/libjemalloc.so.2"), "/usr/lib/libjemalloc.so.2");
}

TEST(SecretsTest, AnyBytesFitIntoAnyRoom) {
  std::mt19937 random(7);
  const std::string_view alphabet("\0 -=:/@?&aZ09_.\"'\\bearer sk- key", 32);
  for (int round = 0; round < 20000; ++round) {
    std::string words;
    for (size_t i = random() % 60; i > 0; --i) words += alphabet[random() % alphabet.size()];
    char out[64];
    const size_t room = random() % sizeof(out);
    out[room] = 'x';
    EXPECT_LE(MaskArguments(words, out, room), room);
    EXPECT_EQ(out[room], 'x');
  }
}

}  // namespace
}  // namespace plateau
