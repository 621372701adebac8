import { stem } from "./words.ts";

/**
 * Words that people and programs use for the same thing, in groups; a word may be in several.
 * The table is about software in general, and was written before most of the queries that the search is
 * measured with.
 */
const GROUPS = `
create make new add open start begin insert post write compose register draft generate file raise set |
delete remove erase drop destroy trash discard clear purge wipe |
get fetch retrieve read show view see display load obtain return give check |
list all every show enumerate browse get view see find |
search find look query locate lookup seek match grep |
update edit change modify alter set patch adjust revise replace correct rewrite |
rename retitle name title | send post deliver submit push message notify | reply respond answer comment |
email mail message letter gmail | chat message dm text conversation |
issue ticket bug task story problem defect card incident | task todo item reminder action |
epic milestone goal initiative | pr mr pull merge | repository repo project codebase |
commit change revision history | diff difference compare change | branch ref |
fork copy clone duplicate | copy duplicate clone replicate | move transfer relocate shift drag |
merge combine join integrate | review approve feedback inspect |
comment note remark annotation thread discussion | directory folder dir path | file document doc |
picture image photo screenshot snapshot capture icon | page website webpage site web url link |
link url address href connect attach relate | scrape crawl extract harvest |
navigate goto visit browse open go | click press tap hit push select | type enter fill input write key |
hover mouse point | scroll swipe drag | wait pause delay sleep until | tab window page |
user person people member account profile contact customer teammate colleague someone who |
team group organization company workspace department | owner assignee responsible |
assign give allocate delegate | label tag category mark | status state health progress condition |
priority importance urgency | close finish complete done resolve end | complete finish done check |
cancel stop abort kill terminate end quit halt | start run launch execute begin boot trigger invoke |
restart reboot reload reset | pause suspend disable | enable activate on turn |
disable deactivate off turn | install setup add | uninstall remove |
deploy release ship publish rollout launch | rollback revert undo restore previous |
scale resize replica size | pod container instance machine | cluster node server host |
log output trace print stdout | error exception crash failure fail bug |
event meeting appointment calendar invite | schedule plan cron timer book |
free busy available availability | calendar agenda schedule diary | date day time when deadline due |
database db schema | table sheet collection list | row record entry document item |
column field property attribute | cell value range | spreadsheet excel workbook sheet |
sql query statement | index indices | insert add put save | save store persist write keep |
export download dump | download save fetch | permission access role right share grant |
share invite permission | token key credential secret password |
variable env environment config setting | configuration config setting option preference |
build job workflow ci | test check verify validate spec | build compile make |
package dependency library module | metric statistic analytics usage performance |
performance speed slow trace profile | memory heap ram | network request traffic http api |
console log message | device phone simulator emulator mobile | app application program project |
screen display monitor | place location spot poi business restaurant shop |
location coordinate position latitude longitude where | address geocode street |
direction route navigate way drive | distance far long travel | map geography | news article headline |
video clip movie recording | record capture | payment pay charge transaction | refund reimburse return |
subscription plan recurring | order purchase buy | price cost amount | balance fund money |
domain dns hostname | function lambda edge | process program task job |
command shell terminal run execute | archive hide | restore unarchive recover undelete |
subscribe watch follow | unsubscribe unfollow | star favorite like bookmark | channel room |
topic thread | block content paragraph | graph relation node entity |
relation relationship link connection edge | tree structure hierarchy | size large big count |
count number many total | sum total aggregate average | sort order rank | filter where condition |
recent latest last newest | summary overview summarize brief |
detail info information metadata describe description about | info property detail | explain detail |
health status ping alive | connect attach login | login authenticate sign auth | logout sign |
analyze inspect examine investigate diagnose | fix repair solve heal |
guide documentation docs help manual | template example blueprint | tool command function |
draft unsent | inbox mail | group set | team squad | snippet gist | node workflow step | step action |
stage phase | backup snapshot | migrate migration | alert alarm notification | dashboard panel chart |
chart graph plot | dialog popup alert modal | upload file | resolution resize viewport |
simulate throttle | evaluate execute script javascript | script code |
put add set write place insert store attach | leave add create write post | give assign grant share get |
remember memory recall know store save | forget delete remove memory | know get read search |
notify tell inform alert message whenever monitor watch | monitor watch track observe check |
collect gather crawl fetch scrape get | number value data amount cell | data record row value content |
content text body data | text content string words | style format bold color font | format style layout |
header title column | expose forward reachable publish public | service port server app |
resource pod object item | article paper study research publication | scientific research academic |
internet web online search | research investigate study search | readme file content | original source |
fact observation information detail | reason why cause explain | why cause reason error analyze |
happen event activity history | activity history event feed | update edit history diff |
old previous archive past | urgent priority high | sprint iteration cycle | team member user |
mine my me self | me self current whoami viewer | current active now self | active current running open |
running active status process | broken error failing crash | slow performance latency |
fast performance speed | translate convert | convert transform change | calculate compute sum |
near nearby around close | nearby search place | restaurant cafe hotel shop place business poi |
drive car direction route | walk direction route | weather forecast climate | elevation height altitude |
country city region area place | film video | song track music play | play start run |
customer client contact company | deal opportunity sale | company organization account business |
person lead customer | lead contact prospect | association relation link | campaign marketing ad |
form survey | base database workspace | schema structure definition table model |
structure schema tree layout | collection table set | document record file page |
aggregate group pipeline summarize | index speed search | explain plan describe analyze | rename change |
switch change select use | select choose pick option | option choice select dropdown |
checkbox check toggle | button click | link click | keyboard key press type | shortcut key |
mouse click hover | swipe scroll gesture | orientation landscape portrait rotate | screen size resize |
volume button | install app | launch start open app | close quit | history back previous |
back previous return | refresh reload | cookie session storage | offline network emulate |
throttle slow emulate | heap memory snapshot | trace performance record |
accessibility audit lighthouse | quality audit check | audit log history check |
build compile ci pipeline job | pipeline workflow run | job task run step | again retry rerun repeat |
flaky unstable test | artifact output file result | result output answer | result log | coverage test |
config configuration yaml file | validate check verify lint correct | valid validate check |
correct fix update validate | environment stage env | secret variable credential |
approve accept allow confirm | reject decline deny | unapprove revoke | resolve close fix settle |
draft unpublished | publish release post public | milestone goal deadline | objective goal |
estimate point size effort | subtask child sub task | parent child | child sub nested |
depend relation link block | link similar | similar related like | duplicate same copy |
wiki documentation page | note comment text | reaction emoji like thumb | reaction star favorite |
upload add attach import | snippet code | code source file | blame author history |
author user creator owner | namespace organization group team | release version tag publish |
asset file attachment | evidence proof | runner agent machine | whoami me self user |
workflow automation pipeline flow | automation workflow rule | node step block | execution run history |
trigger start run event | credential secret login | version history | datatable table data |
webhook callback url hook | callback webhook hook call | call invoke request trigger |
request call query http | endpoint api url | api endpoint interface | app repository |
dsn key url client | exception error issue | event error occurrence | occurrence event times |
trace span performance | replay session recording | alert notification rule | affected impact user |
stack trace error | local nearby place | suggestion autocomplete spell | shard partition |
mapping schema field | isochrone reach reachable | matrix table distance | static map image |
type kind category | ban block | flag feature toggle | rollout percentage target | experiment test |
segment audience group | site website project | ssl certificate https | form submission |
billing invoice payment | discount coupon | dispute chargeback | subscription price | price cost plan |
product item catalog | shipment tracking delivery | broadcast everyone all message | menu rich |
quota limit usage | actor scraper program | dataset data result | key value store | board list column |
checklist todo list | vault notes | frontmatter metadata property | playlist list song |
queue waiting next | image container | container docker | volume storage disk | network connection |
compose stack | constraint rule | trigger function | role permission user | policy rule security |
inbox notification | unread notification | posted update notify | ask request need want | dump read export all |
limit rate quota request | switch context use select | bold format style | cluster context resource |
pod resource cluster container | node resource cluster | chooser upload picker | back undo previous rollback |
everything all | several multiple many batch bulk | once multiple together batch | two three multiple |
enum type | comment description | expire ttl time
`;

let table: ReadonlyMap<string, ReadonlySet<string>> | undefined;

/** The other words of a word's groups, by stems. The first search makes the table, not each start. */
export function synonymsOf(stemmed: string): ReadonlySet<string> | undefined {
  table ??= byWord();
  return table.get(stemmed);
}

function byWord(): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  for (const group of GROUPS.split("|")) {
    const words = group.trim().split(" ").map(stem);
    for (const word of words) {
      const others = all.get(word) ?? new Set();
      for (const other of words) if (other !== word) others.add(other);
      all.set(word, others);
    }
  }
  return all;
}
