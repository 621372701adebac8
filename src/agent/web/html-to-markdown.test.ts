import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { htmlToMarkdown } from "./html-to-markdown.ts";

const BASE = new URL("https://docs.example/guide/");
const markdown = (html: string): string => htmlToMarkdown(html, BASE).markdown;

describe("htmlToMarkdown()", () => {
  it("keeps headings, paragraphs, links, lists, code and tables", () => {
    const { title, markdown: text } = htmlToMarkdown(
      `<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head><body>
      <nav><a href="/">Home</a></nav>
      <h1>Install <em>it</em></h1>
      <p>Run   this,
      or see <a href="../more?x=1&amp;y=2">the   manual</a>.</p>
      <pre><code class="x">npm  install
  a &lt;b&gt;</code></pre>
      <ul><li>one</li><li><p>two</p><ol><li>first<li>second</ol></li></ul>
      <table><tr><th>Key</th><th>Value</th></tr><tr><td>a</td><td><code>1</code></td></tr></table>
      <img src="x.png" alt="A picture"><script>alert("<p>no</p>")</script>
      </body></html>`,
      BASE,
    );
    assert.equal(title, "A & B");
    assert.equal(
      text,
      [
        "# Install *it*",
        "",
        "Run this, or see [the manual](https://docs.example/more?x=1&y=2).",
        "",
        "```\nnpm  install\n  a <b>\n```",
        "",
        "- one",
        "- two",
        "  1. first",
        "  2. second",
        "",
        "| Key | Value |",
        "| a | `1` |",
        "",
        "(Image: A picture)",
      ].join("\n"),
    );
  });

  it("takes the main part where the page says which it is", () => {
    const page =
      "<title>T</title><header>Top</header><main id=m><p>Text</p></main><footer>End</footer>";
    assert.deepEqual(htmlToMarkdown(page, BASE), { title: "T", markdown: "Text" });
  });

  it("makes no links of scripts and anchors, nor of nothing", () => {
    const links = '<a href="javascript:x()">a</a> <a href="#b">b</a> <a href="/c"></a><a>d</a>';
    assert.equal(markdown(links), "a b d");
  });

  it("takes what is no HTML as text, and ends with every page", () => {
    assert.equal(markdown("1 < 2 && 3 > 2 &unknown; &#x41;&#66;"), "1 < 2 && 3 > 2 &unknown; AB");
    for (const page of [
      "<a href='",
      "<script>x",
      "<!-- x",
      "<p",
      "</",
      "&",
      "<pre>x",
      "<ol><li>",
    ]) {
      assert.equal(typeof markdown(page), "string");
    }
    // HTML, Script data state: a script without an end goes on to the end of the page.
    assert.equal(markdown("a<script>b"), "a");
  });

  it("takes no longer for a hostile page than for any other of its length", () => {
    const size = 20_000;
    const pages = [
      "<svg>",
      "<script>",
      '<a href="',
      "<!-",
      "<",
      "&#",
      "<ul><li>",
      "<a href=x>",
      "<b ",
      "\n ",
    ];
    const used = (page: string): number => {
      const from = process.cpuUsage();
      markdown(page);
      return process.cpuUsage(from).user / 1000;
    };
    for (const piece of pages) {
      assert.ok(used(piece.repeat(size)) < 2_000, JSON.stringify(piece));
    }
  });

  it("leaves out what is nested deeper than any page that people write", () => {
    const size = 150_000;
    const from = process.cpuUsage();
    const text = markdown(`<p>first ${"<b>".repeat(size)}${"</i>".repeat(size)}last`);
    assert.match(text, /^first \*\*/);
    assert.doesNotMatch(text, /last/);
    assert.ok(process.cpuUsage(from).user < 2_000_000);
    const deep = markdown(`${"<div>".repeat(1_000)}shown${"</div>".repeat(1_000)}after`);
    assert.equal(deep, "shown\nafter");
  });

  it("takes no longer for a page that is all space or unfinished tags", () => {
    const many = " \t".repeat(1_000_000);
    assert.equal(markdown(`<pre>a${many}b${many}\nc</pre>`), `\`\`\`\na${many}b\nc\n\`\`\``);
    assert.equal(htmlToMarkdown("<title".repeat(300_000), BASE).title, "");
    const link = markdown(`<a href="/x">b<pre>c${many}d</pre></a>`);
    assert.ok(link.endsWith("d ```](https://docs.example/x)"), link.slice(-100));
  });
});
