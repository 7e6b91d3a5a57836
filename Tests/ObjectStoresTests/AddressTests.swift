import Testing

@testable import ObjectStores

@Suite struct AddressTests {
  @Test(arguments: [
    ("1.1.1.1", true), ("52.216.0.1", true), ("0.0.0.0", false), ("10.1.2.3", false), ("100.64.0.1", false),
    ("100.128.0.1", true), ("127.0.0.1", false), ("127.255.0.1", false), ("169.254.169.254", false),
    ("172.15.255.255", true), ("172.16.0.1", false), ("172.31.255.255", false), ("172.32.0.0", true),
    ("192.168.1.1", false), ("192.0.0.8", false), ("192.0.2.1", false), ("198.18.0.1", false), ("198.19.255.1", false),
    ("198.20.0.1", true), ("203.0.113.9", false), ("224.0.0.1", false), ("255.255.255.255", false),
    ("2606:4700::1111", true), ("::", false), ("::1", false), ("fe80::1", false), ("fc00::1", false),
    ("fd12:3456::1", false), ("ff02::1", false), ("2001:db8::1", false), ("2001::1", false), ("2002:a00:1::1", false),
    ("2002:101:101::1", true), ("::ffff:10.0.0.1", false), ("::ffff:1.1.1.1", true),
    ("64:ff9b::169.254.169.254", false),
    ("64:ff9b::1.1.1.1", true), ("::127.0.0.1", false), ("4000::1", false),
  ]) func `Only addresses of the public Internet are public`(_ text: String, _ isPublic: Bool) throws {
    #expect(try required(NetworkAddress(text)).isPublic == isPublic)
  }

  @Test(arguments: [
    ("https://example.org", "https://example.org/"), ("http://Example.ORG:80/a", "http://example.org/a"),
    ("https://example.org:8443/a/b", "https://example.org:8443/a/b"), ("http://[::1]:9000/x", "http://[::1]:9000/x"),
    ("https://10.0.0.1/a%20b", "https://10.0.0.1/a%20b"),
  ]) func `Addresses are read`(_ text: String, _ found: String) throws {
    #expect(try required(RemoteAddress(text)).text == found)
  }

  @Test(arguments: [
    "", "ftp://a/b", "file:///etc/passwd", "https://", "https:///a", "https://user:secret@host/a", "https://host:0/",
    "https://host:65536/", "https://host:x/", "https://ho st/", "https://host/a b", "https://host/a?b",
    "https://host/a#b",
    "https://[::1", "https://[1.2.3.4]/", "https://host\r\nX: y/", "https://host/\r\nX",
  ]) func `Other addresses are refused`(_ text: String) {
    #expect(RemoteAddress(text) == nil)
  }

  @Test(arguments: [
    "", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\0b", String(repeating: "a", count: 1025),
  ]) func `What can't be a file is no key`(_ text: String) {
    #expect(ObjectKey(text) == nil)
  }

  @Test(arguments: [("a/.trash/b", true), (".a/b", true), (".a", false), ("a/b.c", false)])
  func `Objects in hidden folders are hidden`(_ text: String, _ isHidden: Bool) throws {
    #expect(try required(ObjectKey(text)).isHidden == isHidden)
  }

  @Test(arguments: [
    ("\"abc\"", "\"abc\""), ("abc", "\"abc\""), ("W/\"abc\"", nil), ("", nil), ("\"\"", nil), ("\"a b\"", nil),
    ("\"a\"b\"", nil), ("\"a\u{1}\"", nil), ("\"d41d8cd9-2\"", "\"d41d8cd9-2\""),
  ]) func `Only strong entity tags identify an object`(_ text: String, _ tag: String?) {
    #expect(StoreResponseHead.strongTag(text) == tag)
  }
}
