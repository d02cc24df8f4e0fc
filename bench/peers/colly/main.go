// Colly on a list of hosts: colly SEEDS. Fetches and follows links, robots.txt obeyed, no delay, nothing kept.
package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	seeds := strings.Fields(string(text))
	hosts := make([]string, 0, len(seeds))
	for _, seed := range seeds {
		parsed, err := url.Parse(seed)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		hosts = append(hosts, parsed.Hostname())
	}
	collector := colly.NewCollector(colly.Async(true), colly.AllowedDomains(hosts...))
	collector.IgnoreRobotsTxt = false
	if err := collector.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 64}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	collector.OnHTML("a[href]", func(element *colly.HTMLElement) {
		_ = element.Request.Visit(element.Attr("href")) // seen before, or of another host
	})
	for _, seed := range seeds {
		if err := collector.Visit(seed); err != nil {
			fmt.Fprintln(os.Stderr, seed, err)
		}
	}
	collector.Wait()
}
