import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { skeleton } from "./skeleton.ts";

describe("skeleton()", () => {
  const alike: readonly (readonly [string, string, string])[] = [
    ["Cyrillic letters", "read_file", "rеаd_filе"],
    ["Greek letters", "token_copy", "τοκεn_cορy"],
    ["a capital I for an l", "list_files", "Iist_files"],
    ["a one for an l", "list_files", "1ist_fi1es"],
    ["a zero for an o", "read_notes", "read_n0tes"],
    ["r and n for an m", "remove", "rernove"],
    ["another case", "read_file", "Read_File"],
    ["full width", "read_file", "ｒｅａｄ＿ｆｉｌｅ"],
    ["mathematical letters", "read_file", "𝓻𝓮𝓪𝓭_𝒻𝒾𝓁𝑒"],
    ["a ligature", "find_file", "ﬁnd_ﬁle"],
    ["accents", "read_file", "réàd_file"],
    ["characters without a width", "read_file", "read\u200b_fi\u2060le\ufeff"],
    ["characters that turn text around", "read_file", "\u202eread_file\u202c"],
    ["another hyphen", "read-file", "read‐file"],
    ["Cherokee letters", "RATE", "ᎡᎪᎢᎬ"],
    ["a dotless i", "file", "fıle"],
  ];
  for (const [how, name, other] of alike) {
    it(`is the same for ${how}`, () => {
      assert.notEqual(name, other);
      assert.equal(skeleton(other), skeleton(name));
    });
  }

  it("differs for names that can be told apart", () => {
    const names = ["read_file", "read_files", "read_file_2", "write_file", "readfile", "читать"];
    assert.equal(new Set(names.map(skeleton)).size, names.length);
  });
});
