import Testing
import ZipFormat

/// The names of entries.
@Suite("ZIP names")
struct ZipNamesTests {
  @Test("equal names are numbered without regard to case, also where a numbered name is taken")
  func unique() {
    var names = ZipNames()
    let given = ["IMG_1.jpg", "img_1.JPG", "IMG_1 (2).jpg", "IMG_1.jpg", "a", "A", ".x", ".x"]
    #expect(
      given.map { names.unique($0) } == [
        "IMG_1.jpg", "img_1 (2).JPG", "IMG_1 (2) (2).jpg", "IMG_1 (3).jpg", "a", "A (2)", ".x", ".x (2)",
      ])
  }

  @Test("the files of one asset get one number, after their stem, and no other asset has it")
  func assets() {
    let assets: [(given: [String], expected: [String])] = [
      (["IMG_1.HEIC", "IMG_1.MOV", "IMG_1.AAE"], ["IMG_1.HEIC", "IMG_1.MOV", "IMG_1.AAE"]),
      (["IMG_1.JPG", "img_1.mov"], ["IMG_1 (2).JPG", "img_1 (2).mov"]),
      (["IMG_1.HEIC", "IMG_O1.AAE"], ["IMG_1 (3).HEIC", "IMG_O1 (3).AAE"]),
      (["IMG_1.DNG"], ["IMG_1 (4).DNG"]),
      (["A.JPG", "A.JPG.xmp"], ["A.JPG", "A.JPG.xmp"]),
      (["A.JPG", "A.JPG.xmp"], ["A (2).JPG", "A (2).JPG.xmp"]),
      (["P.MP.jpg", "P.MP"], ["P.MP.jpg", "P.MP"]),
      (["P.MP.jpg", "P.MP"], ["P (2).MP.jpg", "P (2).MP"]),
      // A file of another asset has the second one's name, or the stem of its sidecar.
      (["B.JPG", "B.MOV"], ["B.JPG", "B.MOV"]),
      (["C.HEIC", "B.JPG"], ["C (2).HEIC", "B (2).JPG"]),
      (["b (2).jpg"], ["b (2) (2).jpg"]),
      // Two files of one asset have the same name.
      (["D.JPG", "d.jpg"], ["D.JPG", "d (2).jpg"]),
      (["D.PNG"], ["D (3).PNG"]),
      ([], []),
    ]
    var names = ZipNames()
    for (given, expected) in assets {
      let unique = names.unique(given)
      #expect(unique == expected)
    }
  }

  @Test("videos and RAW files get the stem of their picture, and so do their sidecars")
  func companions() {
    let assets: [(given: [String], companions: [Int], expected: [String])] = [
      (["Beach.HEIC", "IMG_1.MOV"], [1], ["Beach.HEIC", "Beach.MOV"]),
      (["Beach.HEIC", "IMG_2.MOV"], [1], ["Beach (2).HEIC", "Beach (2).MOV"]),
      (["A.JPG", "R.DNG", "V.MOV", "A.xmp"], [1, 2], ["A.JPG", "A.DNG", "A.MOV", "A.xmp"]),
      (["B.JPG", "V.MOV", "V.xmp"], [1], ["B.JPG", "B.MOV", "B.MOV.xmp"]),
      (["C.JPG", "V.MOV", "V.MOV.xmp"], [1], ["C.JPG", "C.MOV", "C.MOV.xmp"]),
      (["P.MP.jpg", "P.MP"], [1], ["P.MP.jpg", "P.MP"]),
      (["IMG_3.HEIC", "IMG_3.MOV", "IMG_O3.AAE"], [1], ["IMG_3.HEIC", "IMG_3.MOV", "IMG_O3.AAE"]),
    ]
    var names = ZipNames()
    for (given, companions, expected) in assets {
      let unique = names.unique(given, companions: companions)
      #expect(unique == expected)
    }
  }

  @Test("10,000 equal names stay different")
  func manyEqual() {
    var names = ZipNames()
    let all = (0..<10_000).map { _ in names.unique("a.jpg").lowercased() }
    #expect(Set(all).count == 10_000 && all.last == "a (10000).jpg")
  }

  @Test(
    "names are safe to extract on every system",
    arguments: [
      ("../../etc/passwd", ".._.._etc_passwd"), ("..", "file"), ("", "file"), ("a\\b", "a_b"), ("C:x.jpg", "C_x.jpg"),
      ("\u{6CC}\u{200C}\u{62E}.jpg", "\u{6CC}\u{200C}\u{62E}.jpg"),
      ("a\u{0}b\n.jpg", "a_b_.jpg"), ("a\u{202E}gpj.exe", "a_gpj.exe"), ("con.jpg", "_con.jpg"), ("LPT1", "_LPT1"),
      ("a?*<>|\".jpg", "a______.jpg"), ("end. . ", "end"), ("console.jpg", "console.jpg"),
      (String(repeating: "é", count: 300) + ".jpeg", String(repeating: "é", count: 97) + ".jpeg"),
      (String(repeating: "a", count: 300), String(repeating: "a", count: 200)),
    ])
  func safe(_ name: String, _ expected: String) {
    #expect(ZipNames.safe(name) == expected)
  }
}
