package tyrex.benchmarks;

import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.util.EPCompiledIOUtil;
import com.espertech.esper.common.client.util.FilterServiceProfile;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import com.espertech.esper.runtime.client.UpdateListener;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Measures Esper on one stream: {@code STATEMENTS.epl STREAM.csv WARM [SUM]}.
 *
 * <p>The first WARM events fill the windows and warm up the JVM; the rest is measured. Time is that of the events.
 * With SUM, a property of the composites, their values are added up, too, to compare them with another engine's.
 * Prints one line of JSON.
 */
public final class Main {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private static long composites;
    private static double sum;

    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        Path statementsFile = Path.of(arguments[0]);
        Row[] rows = StreamFile.read(Path.of(arguments[1]));
        int warm = Integer.parseInt(arguments[2]);
        String property = arguments.length > 3 ? arguments[3] : null;

        Configuration configuration = configuration(rows);
        long before = System.nanoTime();
        EPCompiled compiled = compiled(statementsFile, configuration);
        EPRuntime runtime = EPRuntimeProvider.getDefaultRuntime(configuration);
        runtime.initialize();
        EPEventService events = runtime.getEventService();
        events.clockExternal();
        events.advanceTime(rows[0].getTs());
        int statements = 0;
        for (EPStatement statement : runtime.getDeploymentService().deploy(compiled).getStatements()) {
            if (statement.getName().startsWith("rule")) {
                statement.addListener(property == null ? counter() : adder(property));
                statements++;
            }
        }
        double deploySeconds = (System.nanoTime() - before) / 1e9;

        before = System.nanoTime();
        send(events, rows, 0, warm);
        double warmSeconds = (System.nanoTime() - before) / 1e9;
        long warmComposites = composites;

        long cpu = THREADS.getCurrentThreadCpuTime();
        before = System.nanoTime();
        send(events, rows, warm, rows.length);
        double seconds = (System.nanoTime() - before) / 1e9;
        double cpuSeconds = (THREADS.getCurrentThreadCpuTime() - cpu) / 1e9;
        System.out.printf(
            "{\"rules\": %d, \"events\": %d, \"composites\": %d, \"seconds\": %.6f, "
                + "\"cpu_seconds\": %.6f, \"sum\": %.6f, "
                + "\"warm_events\": %d, \"warm_composites\": %d, \"warm_seconds\": %.3f, "
                + "\"deploy_seconds\": %.3f}%n",
            statements, rows.length - warm, composites - warmComposites, seconds,
            cpuSeconds, sum,
            warm, warmComposites, warmSeconds, deploySeconds);
        // Destroying a thousand statements one by one would only cost time.
        System.exit(0);
    }

    /** Compiles the statements, or takes what an earlier run has compiled of the same file. */
    private static EPCompiled compiled(Path epl, Configuration configuration) throws Exception {
        File jar = new File(epl + ".jar");
        if (jar.lastModified() > Files.getLastModifiedTime(epl).toMillis()) {
            return EPCompiledIOUtil.read(jar);
        }
        EPCompiled compiled = EPCompilerProvider.getCompiler()
            .compile(Files.readString(epl), new CompilerArguments(configuration));
        EPCompiledIOUtil.write(compiled, jar);
        return compiled;
    }

    private static void send(EPEventService events, Row[] rows, int from, int to) {
        for (int i = from; i < to; i++) {
            Row row = rows[i];
            events.advanceTime(row.getTs());
            events.sendEventBean(row, row.type);
        }
    }

    private static UpdateListener counter() {
        return (added, removed, statement, runtime) -> composites += added == null ? 0 : added.length;
    }

    private static UpdateListener adder(String property) {
        return (added, removed, statement, runtime) -> {
            composites += added == null ? 0 : added.length;
            if (added != null) {
                for (EventBean composite : added) {
                    sum += ((Number) composite.get(property)).doubleValue();
                }
            }
        };
    }

    /** Set for speed: one thread sends, so there is nothing to lock and no order to restore. */
    private static Configuration configuration(Row[] rows) {
        Configuration configuration = new Configuration();
        Arrays.stream(rows).map(row -> row.type).distinct()
            .forEach(type -> configuration.getCommon().addEventType(type, Row.class));
        var threading = configuration.getRuntime().getThreading();
        threading.setInternalTimerEnabled(false);
        threading.setListenerDispatchPreserveOrder(false);
        threading.setInsertIntoDispatchPreserveOrder(false);
        threading.setNamedWindowConsumerDispatchPreserveOrder(false);
        var execution = configuration.getRuntime().getExecution();
        execution.setDisableLocking(true);
        execution.setFilterServiceProfile(FilterServiceProfile.READMOSTLY);
        return configuration;
    }
}
