package client

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"reactantmpi/internal/cerr"
)

func TestNoneAndExternal(t *testing.T) {
	c, err := Make(&world{}, Options{Mode: None, Device: 3, Preallocate: -1})
	require.Nil(t, err)
	require.Nil(t, c.Pointer())
	require.Equal(t, -1, c.Device())
	require.Nil(t, c.Close())

	c, err = Make(&world{}, Options{Mode: External, Device: 3, Preallocate: -1})
	require.Nil(t, err)
	require.Nil(t, c.Pointer())
	require.Equal(t, 3, c.Device())
	text, e := json.Marshal(c.Describe())
	require.NoError(t, e)
	require.JSONEq(t, `{"mode":"external","device":3,"owned_by":"host"}`, string(text))
	require.Nil(t, c.Close())
}

func TestDefaultMode(t *testing.T) {
	named := func(path string) *world { return &world{hidden: true, env: map[string]string{LibraryVariable: path}} }
	require.Equal(t, External, DefaultMode(&world{hidden: true}, Options{}))
	require.Equal(t, PJRT, DefaultMode(named("/x/xla_cuda_plugin.so"), Options{}))
	require.Equal(t, Reactant, DefaultMode(named("/x/libReactantExtra.so"), Options{}))
	require.Equal(t, PJRT, DefaultMode(&world{hidden: true}, Options{Plugin: "/x/p.so"}))
	require.Equal(t, Reactant, DefaultMode(&world{hidden: true}, Options{Library: "/x/r.so"}))
	double(t)
	_, why := openLocal(&world{}, reactantPath)
	require.Empty(t, why)
	require.Equal(t, Reactant, DefaultMode(&world{env: map[string]string{LibraryVariable: "/x/xla_cuda_plugin.so"}}, Options{Plugin: "/x/p.so"}))
}

func TestOptionsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		env     map[string]string
		text    string
	}{
		"a mode above":             {Options{Mode: 4}, nil, "none, external, reactant, pjrt"},
		"a mode below":             {Options{Mode: -1}, nil, "client mode -1"},
		"more than all memory":     {Options{Mode: PJRT, MemoryFraction: 1.5, Preallocate: -1}, nil, "memory_fraction is 1.5"},
		"negative memory":          {Options{Mode: Reactant, MemoryFraction: -1, Preallocate: -1}, nil, "memory_fraction"},
		"no number":                {Options{Mode: Reactant, MemoryFraction: math.NaN(), Preallocate: -1}, nil, "memory_fraction"},
		"preallocate":              {Options{Mode: Reactant, Preallocate: 2}, nil, "preallocate is 2"},
		"Reactant's fraction":      {Options{Mode: Reactant, Preallocate: -1}, map[string]string{"XLA_REACTANT_GPU_MEM_FRACTION": "all"}, "XLA_REACTANT_GPU_MEM_FRACTION=all"},
		"Reactant's preallocate":   {Options{Mode: Reactant, Preallocate: -1}, map[string]string{"XLA_REACTANT_GPU_PREALLOCATE": "maybe"}, "XLA_REACTANT_GPU_PREALLOCATE=maybe"},
		"JAX's fraction":           {Options{Mode: PJRT, Preallocate: -1}, map[string]string{"XLA_PYTHON_CLIENT_MEM_FRACTION": "2"}, "XLA_PYTHON_CLIENT_MEM_FRACTION=2"},
		"too many elements":        {Options{Mode: PJRT, Plugin: pluginPath, Preallocate: -1, Create: []Option{{"x", []int64{1, 2}}}}, nil, "2 elements"},
		"a type that is not known": {Options{Mode: PJRT, Plugin: pluginPath, Preallocate: -1, Create: []Option{{"x", 1}}}, nil, "option x for the plugin is a int"},
		"too many options":         {Options{Mode: PJRT, Plugin: pluginPath, Preallocate: -1, Create: make([]Option, 20)}, nil, "16 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.options.Plugin != "" || strings.HasPrefix(name, "too many") {
				double(t)
			}
			for i := range test.options.Create {
				if test.options.Create[i].Name == "" {
					test.options.Create[i] = Option{"o" + number(i), true}
				}
			}
			_, err := Make(&world{env: test.env}, test.options)
			require.NotNil(t, err)
			require.Equal(t, cerr.Option, err.Code, err.Text)
			require.Contains(t, err.Text, test.text)
		})
	}
}

func TestNoDeviceChosen(t *testing.T) {
	for _, mode := range []Mode{Reactant, PJRT} {
		_, err := Make(&world{}, Options{Mode: mode, Device: -1, Preallocate: -1})
		require.Equal(t, cerr.XLA, err.Code)
		require.Contains(t, err.Text, "client="+mode.String())
	}
}

func TestReactant(t *testing.T) {
	for name, ifrt := range map[string]bool{"MakeGPUClient": false, "ifrt_make_pjrt_gpu_client": true} {
		t.Run(name, func(t *testing.T) {
			record := double(t)
			sys := &world{env: map[string]string{"XLA_REACTANT_GPU_MEM_FRACTION": "0.5", "XLA_REACTANT_GPU_PREALLOCATE": "false"}}
			c, err := Make(sys, Options{Mode: Reactant, Library: reactantPath, IFRT: ifrt, Device: 2, Preallocate: -1})
			require.Nil(t, err)
			require.NotNil(t, c.Pointer())
			require.Equal(t, 2, c.Device())
			require.Equal(t, []string{name + " node=0/1 allowed=1:2 fraction=0.5 preallocate=0 platform=gpu distributed=0 " +
				"main=0 SIGINT=blocked SIGSEGV=open"}, record())
			d := c.Describe()
			require.Equal(t, reactantPath, d.Library)
			require.Equal(t, "double", d.Platform)
			require.Equal(t, "host", d.OwnedBy)
			require.Equal(t, map[bool]string{false: "PjRtClient", true: "ifrt::Client"}[ifrt], d.Runtime)
			// The host has adopted it: nothing is freed.
			require.Nil(t, c.Close())
			require.Len(t, record(), 1)
		})
	}
}

func TestReactantFreesWhatIsOurs(t *testing.T) {
	for free, ifrt := range map[string]bool{"FreeClient": false, "ifrt_FreeClient": true} {
		record := double(t)
		c, err := Make(&world{}, Options{Mode: Reactant, Library: reactantPath, IFRT: ifrt, Own: true, Preallocate: -1})
		require.Nil(t, err)
		require.Nil(t, c.Close())
		require.Nil(t, c.Close())
		require.Nil(t, c.Pointer())
		require.Len(t, record(), 2)
		require.Equal(t, free, record()[1])
	}
}

func TestReactantArgumentsBeatTheEnvironment(t *testing.T) {
	record := double(t)
	sys := &world{env: map[string]string{"XLA_REACTANT_GPU_MEM_FRACTION": "0.5", "XLA_REACTANT_GPU_PREALLOCATE": "0"}}
	_, err := Make(sys, Options{Mode: Reactant, Library: reactantPath, MemoryFraction: 0.25, Preallocate: 1, Platform: "rocm"})
	require.Nil(t, err)
	contains(t, record(), "fraction=0.25 preallocate=1 platform=rocm")

	record = double(t)
	_, err = Make(&world{}, Options{Mode: Reactant, Library: reactantPath, Preallocate: -1})
	require.Nil(t, err)
	contains(t, record(), "fraction=0.75 preallocate=1 platform=gpu")
}

// Each way in which libReactantExtra fails gives code 81 and its text; the process lives, and the next client works.
func TestReactantFailures(t *testing.T) {
	for _, test := range []struct {
		fault, text string
		freed       bool
	}{
		{"error_text", "No visible GPU devices. (the driver shows no GPU", false},
		{"literal_text", "not built with GPU support (this libReactantExtra is for CPUs", false},
		{"no_text", "it gave no reason", false},
		{"throw", "MakeGPUClient failed: INTERNAL: the double throws", false},
		{"throw_in_look", "INTERNAL: the double has no hardware id", true},
		{"cxx_throw", "a C++ exception that nobody caught (int)", false},
		{"terminate", "(std::terminate)", false},
		{"pthread_exit", "MakeGPUClient ended the thread", false},
		{"wrong_device", "has device 2 instead of 1", true},
		{"two_devices", "has 2 devices instead of one", true},
		{"no_devices", "has no device instead of one", true},
		{"two_devices,throw_in_free", "INTERNAL: the double's client does not end", true},
	} {
		t.Run(test.fault, func(t *testing.T) {
			record := double(t, test.fault)
			_, err := Make(&world{}, Options{Mode: Reactant, Library: reactantPath, Device: 1, Preallocate: -1})
			require.NotNil(t, err)
			require.Equal(t, cerr.XLA, err.Code)
			require.Contains(t, err.Text, test.text)
			require.Contains(t, err.Text, "device 1 from "+reactantPath)
			require.Equal(t, test.freed, strings.Contains(strings.Join(record(), "\n"), "FreeClient"))

			double(t)
			c, err := Make(&world{}, Options{Mode: Reactant, Library: reactantPath, Device: 1, Preallocate: -1, Own: true})
			require.Nil(t, err)
			require.Nil(t, c.Close())
		})
	}
}

// The host's own handler is in place before and after, serves the host's threads meanwhile, and never ours.
func TestReactantHostHandler(t *testing.T) {
	record := double(t, "throw")
	lib, why := openLocal(&world{}, reactantPath)
	require.Empty(t, why)
	defer lib.Close()
	slot := (*unsafe.Pointer)(lib.Symbol("ReactantThrowError"))
	host := lib.Symbol("fake_host_handler")
	require.Nil(t, *slot)
	*slot = host
	defer func() { *slot = nil }()

	options := Options{Mode: Reactant, Library: reactantPath, Device: 1, Preallocate: -1}
	_, err := Make(&world{}, options)
	require.Equal(t, cerr.XLA, err.Code)
	require.Equal(t, host, *slot)
	require.NotContains(t, strings.Join(record(), "\n"), "host handler")

	record = double(t, "throw_elsewhere")
	_, err = Make(&world{}, options)
	require.Nil(t, err)
	require.Equal(t, host, *slot)
	contains(t, record(), "host handler: a failure of the host's own")

	// A handler that the host sets while we are at work stays.
	double(t, "set_handler")
	_, err = Make(&world{}, options)
	require.Nil(t, err)
	require.NotEqual(t, host, *slot)
	require.NotNil(t, *slot)
}

func TestReactantIsFound(t *testing.T) {
	double(t)
	_, err := Make(&world{hidden: true}, Options{Mode: Reactant, Preallocate: -1})
	require.Equal(t, cerr.NoXLA, err.Code)
	require.Contains(t, err.Text, "load Reactant first")

	_, err = Make(&world{hidden: true}, Options{Mode: Reactant, Library: "/none/libReactantExtra.so", Preallocate: -1})
	require.Equal(t, cerr.NoXLA, err.Code)
	require.Contains(t, err.Text, "No such file")

	_, err = Make(&world{hidden: true}, Options{Mode: Reactant, Library: pluginPath, Preallocate: -1})
	require.Equal(t, cerr.NoXLA, err.Code)
	require.Contains(t, err.Text, "has no MakeGPUClient")

	c, err := Make(&world{hidden: true, env: map[string]string{LibraryVariable: reactantPath}}, Options{Mode: Reactant, Preallocate: -1})
	require.Nil(t, err)
	require.Equal(t, LibraryVariable, c.Describe().Found)

	c, err = Make(&world{}, Options{Mode: Reactant, Preallocate: -1})
	require.Nil(t, err)
	require.Equal(t, "already in the process", c.Describe().Found)

	link := filepath.Join(t.TempDir(), "libReactantExtra.so")
	require.NoError(t, os.Symlink(reactantPath, link))
	_, err = Make(&world{}, Options{Mode: Reactant, Library: link, Preallocate: -1})
	require.Nil(t, err)

	_, err = Make(&world{}, Options{Mode: Reactant, Library: "/other/libReactantExtra.so", Preallocate: -1})
	require.Equal(t, cerr.NoXLA, err.Code)
	require.Contains(t, err.Text, "the process already has "+reactantPath)
}

func TestPJRT(t *testing.T) {
	record := double(t)
	c, err := Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Device: 2, MemoryFraction: 0.5, Preallocate: 0})
	require.Nil(t, err)
	require.NotNil(t, c.Pointer())
	require.Equal(t, 2, c.Device())
	d := c.Describe()
	require.Equal(t, []string{"0.114", "double", "v 1234", pluginPath, "PJRT_Client", "reactant_mpi"},
		[]string{d.API, d.Platform, d.PlatformVersion, d.Library, d.Runtime, d.OwnedBy})
	require.Nil(t, c.Close())
	require.Nil(t, c.Close())
	require.Equal(t, []string{
		"PJRT_Plugin_Initialize main=0 SIGINT=blocked SIGSEGV=open",
		"PJRT_Client_Create visible_devices=[2] memory_fraction=0.5 preallocate=0 kv=0 main=0 SIGINT=blocked SIGSEGV=open",
		"PJRT_Client_Destroy live_clients=0 live_errors=0",
	}, record())
}

func TestPJRTOptions(t *testing.T) {
	record := double(t)
	sys := &world{env: map[string]string{"XLA_CLIENT_MEM_FRACTION": "0.3", "XLA_PYTHON_CLIENT_PREALLOCATE": "False", LibraryVariable: pluginPath}}
	c, err := Make(sys, Options{Mode: PJRT, Preallocate: -1, Platform: "cuda", Create: []Option{
		{"allocator", "cuda_async"}, {"collective_memory_size", int64(1 << 20)}, {"use_tfrt_gpu_client", true}, {"memory_fraction", 0.1}}})
	require.Nil(t, err)
	require.Equal(t, LibraryVariable, c.Describe().Found)
	require.Equal(t, "cuda_async", c.Describe().Options["allocator"])
	contains(t, record(), "visible_devices=[0] memory_fraction=0.1 preallocate=0 allocator=cuda_async collective_memory_size=1048576 use_tfrt_gpu_client=1")
	require.Nil(t, c.Close())
}

func TestPJRTFailures(t *testing.T) {
	for _, test := range []struct {
		fault string
		code  cerr.Code
		text  string
		made  bool // a client was made and must be destroyed
	}{
		{"null_api", cerr.NoXLA, "gave no table of functions", false},
		{"old_minor", cerr.NoXLA, "speaks PJRT 0.28, and 0.29 or a later 0.x", false},
		{"major_1", cerr.NoXLA, "speaks PJRT 1.114", false},
		{"short_table", cerr.NoXLA, "has no PJRT_Device_LocalHardwareId (its table of functions, of PJRT 0.114, is 288 bytes long)", false},
		{"hole", cerr.NoXLA, "has no PJRT_Device_LocalHardwareId", false},
		{"init_error", cerr.XLA, "PJRT_Plugin_Initialize failed with code 14 (unavailable): the double's plugin does not start", false},
		{"create_error", cerr.XLA, "PJRT_Client_Create failed with code 9 (failed precondition): No visible GPU devices. (the driver", false},
		{"create_error,no_error_text", cerr.XLA, "code 9 (failed precondition): ", false},
		{"create_error,no_error_code", cerr.XLA, "code 0 (ok): No visible GPU devices.", false},
		{"create_null", cerr.XLA, "gave no client and no reason", false},
		{"devices_error", cerr.XLA, "PJRT_Client_AddressableDevices failed with code 12 (unimplemented): no list of devices", true},
		{"id_error", cerr.XLA, "PJRT_Device_LocalHardwareId failed with code 13 (internal): no hardware id", true},
		{"wrong_device", cerr.XLA, "has device 2 instead of 1", true},
		{"wrong_device,destroy_error", cerr.XLA, "the double's client does not end", true},
		{"cxx_throw", cerr.XLA, "a C++ exception that nobody caught (int)", false},
		{"pthread_exit", cerr.XLA, "PJRT_Client_Create ended the thread", false},
	} {
		t.Run(test.fault, func(t *testing.T) {
			record := double(t, test.fault)
			_, err := Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Device: 1, Preallocate: -1})
			require.NotNil(t, err)
			require.Equal(t, test.code, err.Code)
			require.Contains(t, err.Text, test.text)
			require.Contains(t, err.Text, pluginPath)
			require.Equal(t, test.made, strings.Contains(strings.Join(record(), "\n"), "PJRT_Client_Destroy live_clients=0"))

			// Nothing is left behind: the plugin still works, and no error object lives.
			record = double(t)
			c, err := Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Device: 1, Preallocate: -1})
			require.Nil(t, err)
			require.Nil(t, c.Close())
			contains(t, record(), "PJRT_Client_Destroy live_clients=0 live_errors=0")
		})
	}
}

func TestPJRTDevices(t *testing.T) {
	double(t)
	_, err := Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Device: 7, Preallocate: -1})
	require.Equal(t, cerr.XLA, err.Code)
	require.Contains(t, err.Text, "invalid device: 7. There are 4 devices")

	// An option that this plugin does not know: cpu_device_count.
	_, err = Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Platform: "cpu", Preallocate: -1})
	require.Equal(t, cerr.XLA, err.Code)
	require.Contains(t, err.Text, "Unexpected option name passed to create: cpu_device_count")

	// A plugin that takes it and makes a client for all its devices.
	double(t, "ignore_unknown")
	_, err = Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Platform: "cpu", Preallocate: -1})
	require.Equal(t, cerr.XLA, err.Code)
	require.Contains(t, err.Text, "has 4 devices instead of one")
}

func TestPJRTIsFound(t *testing.T) {
	double(t)
	for _, test := range []struct{ plugin, text string }{
		{"", LibraryVariable},
		{"/none/xla.so", "/none/xla.so cannot be loaded: /none/xla.so: cannot open shared object file: No such file or directory"},
		{reactantPath, "is no PJRT plugin: it has no GetPjrtApi"},
	} {
		_, err := Make(&world{}, Options{Mode: PJRT, Plugin: test.plugin, Preallocate: -1})
		require.Equal(t, cerr.NoXLA, err.Code)
		require.Contains(t, err.Text, test.text)
	}
}

// A failed close is told.
func TestCloseFails(t *testing.T) {
	double(t)
	pjrt, err := Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Preallocate: -1})
	require.Nil(t, err)
	reactant, err := Make(&world{}, Options{Mode: Reactant, Library: reactantPath, Own: true, Preallocate: -1})
	require.Nil(t, err)
	double(t, "destroy_error", "throw_in_free")
	for c, text := range map[*Client]string{pjrt: "PJRT_Client_Destroy failed with code 13", reactant: "FreeClient failed: INTERNAL"} {
		err := c.Close()
		require.NotNil(t, err)
		require.Equal(t, cerr.XLA, err.Code)
		require.Contains(t, err.Text, text)
	}
}

// Clients of several goroutines at once, good and bad mixed, get each their own answer.
func TestAtOnce(t *testing.T) {
	double(t)
	done := make(chan string)
	for i := range 16 {
		go func() {
			device := i % 6 // 4 and 5 are not there
			o := Options{Mode: PJRT, Plugin: pluginPath, Device: device, Preallocate: -1}
			if i%2 == 1 {
				o.Mode, o.Library, o.Own = Reactant, reactantPath, true
			}
			c, err := Make(&world{}, o)
			switch {
			case device < 4 && err != nil:
				done <- err.Text
			case device >= 4 && err == nil:
				done <- "a client for a device that is not there"
			case device >= 4:
				done <- ""
			case c.Device() != device:
				done <- "another's device"
			default:
				if err := c.Close(); err != nil {
					done <- err.Text
					return
				}
				done <- ""
			}
		}()
	}
	for range 16 {
		require.Empty(t, <-done)
	}
}

func BenchmarkPJRT(b *testing.B) {
	if noDoubles != "" {
		b.Skip("not run: ", noDoubles)
	}
	for b.Loop() {
		c, err := Make(&world{}, Options{Mode: PJRT, Plugin: pluginPath, Preallocate: -1})
		if err != nil {
			b.Fatal(err.Text)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err.Text)
		}
	}
}

// Neither good nor bad clients leave threads behind.
func TestNoThreadIsLeft(t *testing.T) {
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		return len(tasks)
	}
	double(t)
	before := threads()
	for _, fault := range []string{"", "throw", "cxx_throw", "pthread_exit", "two_devices"} {
		double(t, fault)
		for range 40 {
			if c, err := Make(&world{}, Options{Mode: Reactant, Library: reactantPath, Own: true, Preallocate: -1}); err == nil {
				require.Nil(t, c.Close())
			}
		}
	}
	// The Go runtime's own threads come and go.
	require.Less(t, threads(), before+20)
}
