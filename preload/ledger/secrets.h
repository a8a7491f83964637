// Keeps passwords, keys and tokens of command lines out of the trace.
//
// What is masked, by its name or by its looks, becomes "***":
//   --api-key VALUE, --hub-token=VALUE, DB_PASSWORD=VALUE   the last word of the name tells, see secrets.cc; numbers stay
//   "api_key": "VALUE", token = 'VALUE', X-Api-Key: VALUE    the same inside of an argument, as JSON, code and headers have it
//   -u NAME:VALUE, --user NAME:VALUE
//   scheme://user:VALUE@host, ?token=VALUE                  in any argument
//   sk-..., hf_..., ghp_..., AKIA..., eyJ...                beginnings that services use
//   Bearer VALUE                                            what follows the word
//   32 and more letters and digits in one piece             with at least four of each
//
// A guess, made to err on the side of masking. Allocates: never. Safe everywhere.
#ifndef PLATEAU_PRELOAD_LEDGER_SECRETS_H_
#define PLATEAU_PRELOAD_LEDGER_SECRETS_H_

#include <cstddef>
#include <string_view>

namespace plateau {

// Whether a variable or option of this name holds a secret.
bool IsSecretName(std::string_view name);

// Writes `arguments`, which are separated by zeros, into `out` without their secrets, still separated by zeros. Returns
// how many bytes; the rest of what does not fit is left out. `out` may not overlap `arguments`.
size_t MaskArguments(std::string_view arguments, char* out, size_t capacity);

// The same for one text: the value of variable `name`.
size_t MaskValue(std::string_view name, std::string_view value, char* out, size_t capacity);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_SECRETS_H_
