import Primitives
import Testing

@Suite("Members of a dictionary in order")
struct SortedByKeyTests {
  @Test("members are in the order of their keys, each with its value, which may be an empty optional")
  func order() {
    let values: [String: Int?] = ["b": 2, "a": nil, "B": 3, "é": 4, "": 5]
    let members = values.sortedByKey
    #expect(members.map(\.key) == ["", "B", "a", "b", "é"])
    #expect(members.map(\.value) == [5, 3, nil, 2, 4])
    #expect([String: Int]().sortedByKey.isEmpty)
  }
}
