// spider-rs on a list of hosts: node crawl.mjs SEEDS [AT_ONCE]. Fetches and finds links, robots.txt obeyed, no delay.
import { readFileSync } from "node:fs";
import { Website } from "@spider-rs/spider-rs";

const seeds = readFileSync(process.argv[2], "utf8").trim().split("\n");
const atOnce = Number(process.argv[3] ?? 32);

async function crawlSome() {
  for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
    const website = new Website(seed).withRespectRobotsTxt(true).build();
    await website.crawl();
  }
}

await Promise.all(Array.from({ length: atOnce }, crawlSome));
