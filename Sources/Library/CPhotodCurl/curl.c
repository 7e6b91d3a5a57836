#include "CPhotodCurl.h"

CURLcode photod_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode photod_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode photod_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode photod_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode photod_curl_set_headers(CURL *easy, struct curl_slist *list) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

CURLcode photod_curl_set_data_function(CURL *easy, CURLoption option, photod_curl_data_function function) {
  return curl_easy_setopt(easy, option, function);
}

CURLcode photod_curl_set_seek_function(CURL *easy, photod_curl_seek_function function) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}

CURLcode photod_curl_set_open_socket_function(CURL *easy, photod_curl_socket_function function) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

CURLcode photod_curl_get_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, value);
}

CURLMcode photod_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

const struct sockaddr *photod_curl_address(const struct curl_sockaddr *address) {
  return &address->addr;
}
