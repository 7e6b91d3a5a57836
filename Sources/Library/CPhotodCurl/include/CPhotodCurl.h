// libcurl's functions with variable arguments, one for each type of argument, because Swift can't call those. Each
// returns what libcurl's own function returns.
#pragma once

#include <curl/curl.h>
#include <sys/socket.h>

typedef size_t (*photod_curl_data_function)(char *bytes, size_t size, size_t count, void *context);
typedef int (*photod_curl_seek_function)(void *context, curl_off_t offset, int origin);
typedef curl_socket_t (*photod_curl_socket_function)(
    void *context, curlsocktype purpose, struct curl_sockaddr *address);

CURLcode photod_curl_set_long(CURL *easy, CURLoption option, long value);
CURLcode photod_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode photod_curl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode photod_curl_set_pointer(CURL *easy, CURLoption option, void *value);
CURLcode photod_curl_set_headers(CURL *easy, struct curl_slist *list);
CURLcode photod_curl_set_data_function(CURL *easy, CURLoption option, photod_curl_data_function function);
CURLcode photod_curl_set_seek_function(CURL *easy, photod_curl_seek_function function);
CURLcode photod_curl_set_open_socket_function(CURL *easy, photod_curl_socket_function function);
CURLcode photod_curl_get_pointer(CURL *easy, CURLINFO info, void **value);
CURLMcode photod_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);

// The address that a socket is about to be connected to, with all its bytes.
const struct sockaddr *photod_curl_address(const struct curl_sockaddr *address);
