/* codecs/tls/tickets.c - the keys of session tickets: one set for the process, rotated */
#include "codecs/tls/tickets.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <string.h>

#include "codecs/tls/tls.h"
#include "core/io/loop.h"

enum { NAME_BYTES = 16, SECRET_BYTES = 32 };

struct ticket_key {
    uint8_t name[NAME_BYTES], cipher[SECRET_BYTES], mac[SECRET_BYTES];
    uint64_t made_ms;
    bool is_set;
};

static struct {
    pthread_mutex_t lock;
    struct ticket_key now, before;
} keys = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool make(struct ticket_key *key, uint64_t now_ms)
{
    key->made_ms = now_ms;
    key->is_set = RAND_bytes(key->name, NAME_BYTES) == 1 &&
                  RAND_priv_bytes(key->cipher, SECRET_BYTES) == 1 &&
                  RAND_priv_bytes(key->mac, SECRET_BYTES) == 1;
    return key->is_set;
}

/* A key that nobody has used for twice its time opens nothing any more either. */
static bool rotate(uint64_t now_ms)
{
    if (keys.now.is_set && now_ms - keys.now.made_ms < TICKET_KEY_MS)
        return true;
    bool recent = keys.now.is_set && now_ms - keys.now.made_ms < 2 * (uint64_t)TICKET_KEY_MS;
    if (recent)
        keys.before = keys.now;
    else
        OPENSSL_cleanse(&keys.before, sizeof keys.before);
    return make(&keys.now, now_ms);
}

static bool key_to_make(struct ticket_key *key, uint64_t now_ms)
{
    pthread_mutex_lock(&keys.lock);
    bool fine = rotate(now_ms);
    *key = keys.now;
    pthread_mutex_unlock(&keys.lock);
    return fine;
}

/* *old: a new ticket is due. */
static bool key_to_open(struct ticket_key *key, const uint8_t *name, uint64_t now_ms, bool *old)
{
    pthread_mutex_lock(&keys.lock);
    rotate(now_ms);
    *old = !keys.now.is_set || memcmp(keys.now.name, name, NAME_BYTES) != 0;
    *key = *old ? keys.before : keys.now;
    pthread_mutex_unlock(&keys.lock);
    return key->is_set && !memcmp(key->name, name, NAME_BYTES);
}

static bool set_up(const struct ticket_key *key, const uint8_t *iv, EVP_CIPHER_CTX *cipher,
                   EVP_MAC_CTX *mac, int making)
{
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)(uintptr_t)key->mac,
                                          SECRET_BYTES),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0),
        OSSL_PARAM_construct_end()};
    return EVP_MAC_CTX_set_params(mac, parameters) == 1 &&
           EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv, making) == 1;
}

/* What OpenSSL asks: -1: it failed; 0: no such key; 1: done; 2: done, and make a new ticket. */
static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                     EVP_MAC_CTX *mac, int making)
{
    const struct tls *tls = SSL_get_app_data(ssl);
    uint64_t now_ms = loop_now_ms(tls->worker->loop);
    struct ticket_key key;
    bool old = false;
    if (making && (!key_to_make(&key, now_ms) ||
                   RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1))
        return -1;
    if (!making && !key_to_open(&key, name, now_ms, &old))
        return 0;
    if (making)
        memcpy(name, key.name, NAME_BYTES);
    bool fine = set_up(&key, iv, cipher, mac, making);
    OPENSSL_cleanse(&key, sizeof key);
    return fine ? 1 + old : -1;
}

void tickets_use(SSL_CTX *ssl)
{
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, on_ticket);
    SSL_CTX_set_timeout(ssl, TICKET_KEY_MS / 1000);
}
