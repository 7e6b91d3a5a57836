// OpenSSL's libcrypto. The function is in C because OSSL_PARAM holds pointers to its name and value, which Swift
// strings don't provide.
#pragma once
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

static inline int photod_hmac_sha256_init(EVP_MAC_CTX *context, const unsigned char *key, size_t length) {
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA2-256", 0),
                             OSSL_PARAM_construct_end()};
  return EVP_MAC_init(context, key, length, parameters);
}
